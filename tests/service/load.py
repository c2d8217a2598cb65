"""A service under random load that is killed: ``python tests/service/load.py FOLDER SNAPSHOT_EVERY``.

For every line on standard input, ``{"seed": …, "resend": […]}``, the process forks a child that opens the store and
lets clients create, teach, snapshot, undo and delete models at random until it is killed. Everything is written down
on standard output, a line of JSON each: what a client is about to do, and what was acknowledged. Forking a process that
has everything imported and compiled makes a kill cost no second to start.
"""

import asyncio
import hashlib
import json
import os
import random
import sys

import numpy as np

from rosenblatt.core.geometry import initial_auxiliary
from rosenblatt.service.models import Models
from rosenblatt.service.schemas import Example, ModelSettings
from rosenblatt.service.warmup import rehearse
from rosenblatt.service.writer import Service
from rosenblatt.web.refusals import Refusal

CLIENTS = 4
NAMES = ("one", "two", "three", "four", "five")
SETTINGS = (
    ModelSettings(),
    ModelSettings(hypothesis="last"),
    ModelSettings(multi_class="ovr", rule="passive-aggressive", parameters={"C": 0.5}),
    ModelSettings(hypothesis="last", rule="pegasos"),
    ModelSettings(hash_bits=5, rule="margin"),
    ModelSettings(forget=20.0, classes=["b", "c"]),
    ModelSettings(rule="arow"),
    ModelSettings(rule="arow", multi_class="ovr", hypothesis="last"),
    ModelSettings(rule="alma", parameters={"p": 4.0}),
    ModelSettings(fit_intercept=False, multi_class="ovr"),
    ModelSettings(labels="integer", rule="widrow-hoff", parameters={"eta": 0.01}),
)


def bits(model):
    """Return a digest of every bit of a model: weights, averages, variances, counts, classes, names."""
    learner, own = model.learner, model.learner.learner
    width = 1 + len(learner._vocabulary)
    digest = hashlib.blake2b(digest_size=16)
    counts = (model.counts.mistakes, model.counts.failed)
    known = (learner.labels, learner.names, learner.rows, learner._since, counts)
    digest.update(repr(known).encode())
    for array, beyond in ((own.W, 0.0), (own.average_offset, 0.0), (own.S, initial_auxiliary(own.geometry))):
        if array is not None:
            columns = np.full((array.shape[0], width), beyond)  # a column that was never needed is a new one
            columns[:, : min(width, array.shape[1])] = array[:, :width]
            digest.update(columns.tobytes())
    for record in (own.running, own.totals):
        digest.update(record.tobytes())
    return digest.hexdigest()


def say(message):
    os.write(
        1, (json.dumps(message) + "\n").encode()
    )  # at once, and whole: it is shorter than a pipe's buffer


class Client:
    """Does one random thing after another, and writes down what it does and what was acknowledged."""

    def __init__(self, service, number, seed):
        self.service, self.number, self.count = service, number, 0
        self.id, self.rng = f"{seed}-{number}", random.Random(f"{seed}-{number}")
        self.learned = []  # (name, number of the model, seq)

    async def run(self, resend):
        for message in resend:
            await self.act("feedback", self.feedback, **message)
        while True:
            chance, name = self.rng.random(), self.rng.choice(NAMES)
            if name not in self.service.models:
                await self.act("create", self.create, name=name, settings=self.rng.randrange(len(SETTINGS)))
            elif chance < 0.02:
                await self.act("delete", self.delete, name=name, model=self.service.models.model(name).number)
            elif chance < 0.05:
                await self.act("snapshot", self.snapshot, name=name)
            elif chance < 0.09 and self.learned:
                name, number, seq = self.rng.choice(self.learned)
                await self.act("undo", self.undo, name=name, model=number, seq=seq)
            else:
                await self.act("feedback", self.feedback, **self.fresh(self.service.models.model(name)))

    def fresh(self, model):
        """Return a feedback: names and classes come in over the life of a model."""
        self.count += 1
        rows, rng = model.learner.rows, self.rng
        names = rng.sample(range(3 + rows // 3 + 5), min(6, 3 + rows // 3))
        label = rng.choice("cabed"[: 2 + rows // 15])
        return {
            "name": model.name,
            "model": model.number,
            "key": f"{self.id}-{self.count}",
            "features": {f"n{at}": round(rng.uniform(-2, 2), 3) for at in names},
            "label": label if model.settings.labels == "text" else ord(label),
        }

    async def act(self, what, work, **message):
        self.count += 1
        at = f"{self.id}.{self.count}"
        say({"begun": at, "what": what, **message})
        try:
            say({"done": at, "answer": await work(**message)})
        except Refusal as refusal:
            say({"refused": at, "status": refusal.status, "message": str(refusal)})

    async def create(self, name, settings):
        new = await self.service.create(name, SETTINGS[settings])
        return self.service.models.number_of(name) if new else None

    async def delete(self, name, model):
        if name in self.service.models and self.service.models.number_of(name) == model:
            await self.service.delete(name)
            return True
        return False

    async def snapshot(self, name):
        await self.service.snapshot(name)

    async def undo(self, name, model, seq):
        if name not in self.service.models or self.service.models.number_of(name) != model:
            return None
        return await self.service.undo(name, seq)

    async def feedback(self, name, model, key, features, label):
        if name not in self.service.models or self.service.models.number_of(name) != model:
            return None
        if self.rng.random() < 0.2:
            self.service.models.predict(name, [Example(features=features)])  # which changes nothing
        change = await self.service.feedback(name, label, Example(features=features), key=key)
        if self.rng.random() < 0.1:  # a client that did not hear the answer
            again = await self.service.feedback(name, label, Example(features=features), key=key)
            assert (again.seq, again.repeated) == (change.seq, True)
        self.learned.append((name, model, change.seq))
        return [change.seq, change.repeated]


async def serve(folder, snapshot_every, order):
    models = Models(folder, recent_bytes=1 << 16)
    say(
        {
            "pid": os.getpid(),
            "models": {model.number: bits(model) for model in models},
            "offline": [each.reason for each in models.offline.values()],
        }
    )
    service = Service(models, snapshot_every=snapshot_every)
    service.start()
    clients = [Client(service, at, order["seed"]) for at in range(CLIENTS)]
    await asyncio.gather(*(client.run(order["resend"][at::CLIENTS]) for at, client in enumerate(clients)))


def main():
    folder, snapshot_every = sys.argv[1], int(sys.argv[2])
    rehearse(SETTINGS)  # loops are loaded before anything is forked
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            try:
                asyncio.run(serve(folder, snapshot_every, json.loads(line)))
            except BaseException as error:
                say({"failed": repr(error)})
            os._exit(1)
        os.waitpid(child, 0)
        say({"dead": child})


if __name__ == "__main__":
    main()
