"""The messages that a search lists, newest first, and how the model marks them now."""

from typing import Any

from rosenblatt.mail.features import Said
from rosenblatt.mail.mailbox import Kept, Mailbox
from rosenblatt.mail.marks import UNDECIDED, Mark, Marks
from rosenblatt.service.learner import ServedLearner
from rosenblatt.service.model import Model

MOST_LISTED = 2000  # messages of a listing, the newest


class Listing:
    """Messages of a search with their marks; which they are does not change, how they are marked does.

    Reading messages and looking at the weights take tens of milliseconds, and are done in a thread.
    """

    def __init__(self, box: Mailbox, query: str, model: int) -> None:
        self.newest = box.newest()  # message of the box when this was read
        messages = box.find(query, model, MOST_LISTED)
        self._known_senders = box.met_again([each.sender for each in messages])
        self._marks = Marks([each.features for each in messages])
        self.messages: list[Kept] = [each._replace(features={}) for each in messages]  # the marks have them
        self.told = {each.number: each.told for each in messages if each.told is not None}
        self._looked_at: Any = None

    def __len__(self) -> int:
        return len(self.messages)

    def look(self, model: Model | None, frozen: ServedLearner | None, state: Any) -> None:
        """Mark all messages anew, unless the weights are those of ``state`` already."""
        if state != self._looked_at:
            self._marks.look(model, frozen)
            self._looked_at = state

    def mark(self, at: int) -> Mark:
        """Return the mark of a message."""
        return self._marks.mark(at)

    def reasons(self, at: int, most: int) -> list[Said]:
        """Return what decided the mark of a message."""
        return self._marks.reasons(at, most, self._lone_sender(at))

    def words(self, at: int) -> dict[str, float]:
        """Return what every word of a message adds to its score."""
        return self._marks.words(at, self._lone_sender(at))

    def unsure(self) -> int:
        """Return how many messages that nobody has answered the model is unsure about."""
        return sum(
            self.mark(at).label == UNDECIDED
            for at, each in enumerate(self.messages)
            if each.number not in self.told
        )

    def _lone_sender(self, at: int) -> bool:
        return self.messages[at].sender not in self._known_senders
