"""The pages of the service, on the same server as its API: the inbox of the mail filter, and its model.

:func:`~rosenblatt.mail.pages.mounting.mount` mounts them on the application; the middleware checks host, origin and
session before any page or its websocket. What they show is in the store, so a restart changes nothing.
"""
