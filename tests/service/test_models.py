"""Models in a store: what they learn is durable, and a restart changes no bit of them."""

import random

import pytest
from safetensors import safe_open
from safetensors.numpy import save
from tests.service.load import bits

from rosenblatt.service.learner import ServedLearner
from rosenblatt.service.model import Model
from rosenblatt.service.schemas import Example, ModelSettings
from rosenblatt.service.snapshots import model_from_file
from rosenblatt.service.writer import LocalModels
from rosenblatt.web.refusals import BadMessage

SETTINGS = {
    "two": ModelSettings(),
    "three": ModelSettings(classes=["x", "y", "z"]),
    "ovr": ModelSettings(multi_class="ovr", rule="passive-aggressive", parameters={"C": 0.5}),
    "last": ModelSettings(hypothesis="last", rule="pegasos"),
    "hashed": ModelSettings(hash_bits=6),
    "forgets": ModelSettings(forget=50.0),
    "arow": ModelSettings(rule="arow"),
    "alma": ModelSettings(rule="alma", parameters={"p": 4.0}),
    "no-bias": ModelSettings(fit_intercept=False),
}


def examples(seed, n):
    rng = random.Random(seed)
    for _ in range(n):
        chosen = rng.sample(range(60), 8)
        yield Example(features={f"f{at}": rng.uniform(-1, 1) for at in chosen}), rng.choice("xyz")


def fingerprints(models):
    return {name: models.info(name, fingerprint=True).fingerprint for name in models.names}


@pytest.fixture
def taught(tmp_path):
    models = LocalModels(tmp_path / "store", recent_bytes=1 << 16)
    for at, (name, settings) in enumerate(SETTINGS.items()):
        models.create(name, settings)
        pairs = [(x, "x" if name == "two" and y == "z" else y) for x, y in examples(at, 120)]
        for lo in range(0, 120, 10):
            models.learn(name, pairs[lo : lo + 10])
            models.predict(name, [x for x, _ in pairs[lo + 5 : lo + 20]])  # which changes nothing
    return models


def test_a_replay_of_the_journal_gives_the_same_bits(taught):
    before = fingerprints(taught)
    taught.close(snapshot=False)
    again = LocalModels(taught.store.folder, recent_bytes=1 << 16)
    assert again.replayed == 120 * len(SETTINGS)
    assert fingerprints(again) == before
    again.close()


def test_a_snapshot_and_the_journal_after_it_give_the_same_bits(taught):
    for name in taught.names:
        taught.snapshot(name)
    for name in taught.names:
        taught.learn(name, examples(name, 39))
        [(example, label)] = examples(-1, 1)
        taught.feedback(name, label, example)
    before = fingerprints(taught)
    taught.close(snapshot=False)
    again = LocalModels(taught.store.folder, recent_bytes=1 << 16)
    assert again.replayed == 40 * len(SETTINGS)
    assert fingerprints(again) == before
    again.close()


def test_columns_that_were_not_used_yet_leave_no_trace(tmp_path):
    """A third class, a snapshot, a new name, a kill: a spare column held −0.0 where a new one holds 0.0."""
    models = LocalModels(tmp_path, recent_bytes=1 << 16)
    models.create("m")
    for label, features in (("b", {"x": 1.0}), ("a", {"y": 1.0}), ("b", {"x": -1.0}), ("c", {"y": 2.0})):
        models.feedback("m", label, Example(features=features))
    models.snapshot("m")
    models.feedback("m", "a", Example(features={"new": 0.0, "x": 1.0}))
    before = bits(models.model("m")), models.info("m", fingerprint=True).fingerprint
    models.close(snapshot=False)
    again = LocalModels(tmp_path, recent_bytes=1 << 16)
    assert again.replayed == 1
    assert (bits(again.model("m")), again.info("m", fingerprint=True).fingerprint) == before
    again.close()


@pytest.mark.parametrize("name", ["m\n", "m\r\n", "\nm", "m\0", "a/b", ""])
def test_a_name_of_a_model_is_matched_to_its_end(tmp_path, name):
    models = LocalModels(tmp_path / "store", recent_bytes=1 << 18)
    with pytest.raises(BadMessage):
        models.create(name)
    models.close()


@pytest.mark.parametrize("classes", [2, 3])
def test_predictions_carry_probabilities_that_a_restart_does_not_change(tmp_path, classes):
    models = LocalModels(tmp_path, recent_bytes=1 << 16)
    models.create("m")
    rng = random.Random(classes)
    pairs = []
    for _ in range(200):
        label = rng.randrange(classes)
        noise = {f"f{at}": rng.gauss(0.0, 1.0) for at in range(3)}
        pairs.append((Example(features={**noise, f"class {label}": 1.0}), "abc"[label]))
    [before] = models.predict("m", [pairs[0][0]])
    assert before.probability is None
    models.learn("m", pairs[:120])
    models.snapshot("m")
    models.learn("m", pairs[120:])
    predictions = models.predict("m", [example for example, _ in pairs])
    assert all(1 / classes < each.probability < 1.0 for each in predictions)
    surest = sorted(zip(predictions, pairs, strict=True), key=lambda each: -each[0].probability)[:100]
    assert sum(prediction.label == label for prediction, (_, label) in surest) > 90
    state = models.model("m").learner.running_calibration.to_json()
    models.close(snapshot=False)
    again = LocalModels(tmp_path, recent_bytes=1 << 16)
    assert again.replayed == 80
    assert again.model("m").learner.running_calibration.to_json() == state
    again.close()


def test_a_learner_is_copied_while_another_thread_predicts():
    learner = ServedLearner("averaged")
    learner.learn_one({"a": 1.0}, "x")
    learner.learn_one({"b": 1.0}, "y")

    class Predicting(frozenset):
        """What is left out of a copy; to look into it predicts, as another thread may at that moment."""

        def __contains__(self, name):
            learner.score({"a": 1.0})  # the first one adds an attribute
            return super().__contains__(name)

    learner._of_this_object = Predicting(learner._of_this_object)
    assert "_lookup" not in vars(learner)
    assert learner.frozen().fingerprint() == learner.fingerprint()
    assert "_lookup" in vars(learner)


@pytest.mark.parametrize(
    ("tensor", "value"), [("W", 1e308), ("W", -1e200), ("running.scale", 1e308), ("running.shadow", 1e308)]
)
def test_a_file_whose_next_update_would_overflow_is_refused(tmp_path, tensor, value):
    model, path = Model(1, "m", ModelSettings()), tmp_path / "m.safetensors"
    for seq in range(1, 9):
        model.learn(seq, {"x": 1.0, f"n{seq}": -2.0}, "ab"[seq % 2])
    model.save(path)
    with safe_open(path, "np") as file:
        arrays, metadata = {name: file.get_tensor(name) for name in file.keys()}, file.metadata()  # noqa: SIM118
    arrays[tensor].reshape(-1)[-1] = value
    path.write_bytes(save(arrays, metadata))
    with pytest.raises(BadMessage, match="not a model that can be served"):
        model_from_file("m", path, None)
