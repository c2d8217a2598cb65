"""The pages of the service, on the same server as its API: the inbox of the mail filter, and its model.

:func:`~rosenblatt.mail.pages.mounting.mount` puts them onto the application; host, origin and token have been
checked before any of them, or their websocket, is reached. What they show is in the store: a restart changes nothing.
"""

from rosenblatt.mail.pages.mounting import mount

__all__ = ["mount"]
