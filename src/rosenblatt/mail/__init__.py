"""The mail filter: it marks messages as important or not, and learns from corrections at once.

- :mod:`~rosenblatt.mail.message`: a message as the filter reads it, from its bytes.
- :mod:`~rosenblatt.mail.features`: the features of a message, and how a reason is shown to a person.
- :mod:`~rosenblatt.mail.mailbox`: messages and answers about them, in a database beside the journal.
- :mod:`~rosenblatt.mail.marks`: the marks of many messages, computed with one set of weights.
- :mod:`~rosenblatt.mail.folders`: sorted mail from mbox, Maildir and folders of ``.eml`` files.
- :mod:`~rosenblatt.mail.bound`: an upper bound on the filter's mistakes, by a theorem.
- :mod:`~rosenblatt.mail.filter`: answers, written to the journal one by one or in bulk, and undone.
- :mod:`~rosenblatt.mail.watch`: new messages from a Maildir or an IMAP mailbox.
"""
