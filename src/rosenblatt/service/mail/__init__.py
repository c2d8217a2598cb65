"""The mail filter: messages arrive, each is marked important or not, and a correction is learned from at once.

- :mod:`~rosenblatt.service.mail.message`: a message as the filter reads it, from its bytes.
- :mod:`~rosenblatt.service.mail.features`: what of a message the model looks at, and how a reason is said to a person.
- :mod:`~rosenblatt.service.mail.box`: the messages and what was said about them, in a database beside the journal.
- :mod:`~rosenblatt.service.mail.marks`: the marks of many messages, from one look at the weights.
- :mod:`~rosenblatt.service.mail.folders`: what is already sorted, from mbox, Maildir and folders of ``.eml`` files.
- :mod:`~rosenblatt.service.mail.bound`: how many mistakes it can make at most, a theorem.
- :mod:`~rosenblatt.service.mail.teaching`: answers on their way into the journal, one by one or in bulk, and out of it.
"""
