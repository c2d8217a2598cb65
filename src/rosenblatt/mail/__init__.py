"""The mail filter: messages arrive, each is marked important or not, and a correction is learned from at once.

- :mod:`~rosenblatt.mail.message`: a message as the filter reads it, from its bytes.
- :mod:`~rosenblatt.mail.features`: what of a message the model looks at, and how a reason is said to a person.
- :mod:`~rosenblatt.mail.mailbox`: the messages and what was said about them, in a database beside the journal.
- :mod:`~rosenblatt.mail.marks`: the marks of many messages, from one look at the weights.
- :mod:`~rosenblatt.mail.folders`: what is already sorted, from mbox, Maildir and folders of ``.eml`` files.
- :mod:`~rosenblatt.mail.bound`: how many mistakes it can make at most, a theorem.
- :mod:`~rosenblatt.mail.filter`: answers on their way into the journal, one by one or in bulk, and out of it.
"""
