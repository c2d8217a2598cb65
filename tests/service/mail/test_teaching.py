"""Answers about messages: each is learned once, whatever stops the process; what is taken back was never said."""

import asyncio
import time

import pytest
from tests.service.mail.messages import letter

from rosenblatt.service.care import Verdict, verify
from rosenblatt.service.mail.box import Mailbox
from rosenblatt.service.mail.features import features
from rosenblatt.service.mail.marks import IMPORTANT, MODEL, NOT, SETTINGS, Marks
from rosenblatt.service.mail.message import read_mail
from rosenblatt.service.mail.teaching import Desk, import_sorted, learn_waiting, settle
from rosenblatt.service.messages import Example
from rosenblatt.service.models import Models
from rosenblatt.service.service import Service
from rosenblatt.web.refusals import Closing, Conflict, Gone, Unknown

SMALL = {"recent_bytes": 1 << 16}


def mails(n, first=0):
    return [
        (read_mail(letter(at, at % 2 == 0)), IMPORTANT if at % 2 == 0 else NOT)
        for at in range(first, first + n)
    ]


def fingerprint(models):
    return models.info(MODEL, fingerprint=True).fingerprint


@pytest.fixture
def models(tmp_path):
    models = Models(tmp_path / "store", **SMALL)
    yield models
    models.close(snapshot=False)


@pytest.fixture
def box(models):
    box = Mailbox(models.store.folder)
    yield box
    box.close()


def test_sorted_mail_is_learned_in_time_order_and_once(models, box):
    shuffled = mails(40)[::-1]
    first = import_sorted(models, box, shuffled)
    assert (first.messages, first.new, first.learned) == (40, 40, 40)
    again = import_sorted(models, box, shuffled)
    assert (again.messages, again.new, again.learned) == (40, 0, 0)
    twin = Models(models.store.folder.parent / "twin", **SMALL)
    twin.create(MODEL, SETTINGS)
    twin.learn(MODEL, [(Example(features=features(mail)), label) for mail, label in mails(40)])
    assert fingerprint(twin) == fingerprint(models)
    twin.close()


def test_marks_are_what_the_model_predicts(models, box):
    import_sorted(models, box, mails(30))
    fresh = [features(read_mail(letter(seed, seed % 3 == 0))) for seed in range(100, 130)]
    marks = Marks(fresh)
    marks.look(models.model(MODEL))
    told = models.predict(MODEL, [Example(features=each) for each in fresh], reasons=100)
    for at, each in enumerate(told):
        mark = marks.mark(at)
        assert abs(mark.score) == pytest.approx(each.margin, abs=1e-12)
        assert mark.label == ("undecided" if each.undecided else each.label)
        assert sum(why.push for why in marks.reasons(at, 1000)) == pytest.approx(
            sum(
                r.contribution * (1 if each.label == IMPORTANT else -1)
                for r in each.reasons
                if r.feature != "(bias)"
            ),
            abs=0.1,  # what is too little to be a reason is left out
        )


def test_without_a_model_nothing_is_known():
    marks = Marks([features(read_mail(letter(1, True)))])
    marks.look(None)
    assert marks.mark(0).label == "undecided"
    assert marks.reasons(0) == []


@pytest.mark.parametrize("where", ["before the journal", "before its place is noted"])
def test_an_answer_that_was_interrupted_is_learned_once(models, box, where):
    import_sorted(models, box, mails(10))
    [(mail, _)] = mails(1, first=50)
    box.add([mail])
    number = box.find("", models.model(MODEL).number, 1)[0].number
    answer = box.answer(number, models.model(MODEL).number, NOT)
    if where == "before its place is noted":
        models.feedback(MODEL, NOT, Example(features=box.features(number)), key=answer.key)
    settle(models, box)
    assert models.info(MODEL).clock == 11
    assert learn_waiting(models, box) == (0, 0)
    assert box.told(number, models.model(MODEL).number) == NOT


def served(models, work):
    async def run():
        service = Service(models)
        service.start()
        box = Mailbox(models.store.folder)
        try:
            return await work(Desk(service, box))
        finally:
            box.close()
            await service.stop()

    return asyncio.run(run())


def test_what_is_taken_back_is_as_if_it_had_never_been_said(tmp_path):
    models = Models(tmp_path / "store", **SMALL)

    async def work(desk):
        await desk.keep(mail for mail, _ in mails(12))
        numbers = [each.number for each in desk.box.find("", desk.number, 20)]
        for number in numbers[:4]:
            await desk.answer(number, IMPORTANT)
        await desk.service.snapshot(MODEL)
        before = fingerprint(models), models.info(MODEL).mistakes
        await desk.answer(numbers[5], NOT)
        await desk.service.snapshot(MODEL)
        await desk.answer(numbers[6], IMPORTANT)
        for _ in range(2):
            taken = await desk.undo()
        assert taken.message == numbers[5]
        assert (fingerprint(models), models.info(MODEL).mistakes) == before
        assert desk.box.told(numbers[5], desk.number) is None
        change = await desk.answer(numbers[7], NOT)  # and it goes on
        assert change.seq == 7
        lines = [line.seq for line in models.ledger(MODEL)]
        assert 5 not in lines
        assert 6 not in lines
        return fingerprint(models), [(each.number, each.told) for each in desk.box.find("", desk.number, 20)]

    after, told = served(models, work)
    assert verify(tmp_path / "store") == ([], [Verdict(MODEL, 5, after, ())])
    again = Models(tmp_path / "store", **SMALL)
    assert fingerprint(again) == after
    box = Mailbox(again.store.folder)
    assert [(each.number, each.told) for each in box.find("", again.model(MODEL).number, 20)] == told
    box.close()
    again.close()


def test_taking_back_that_was_interrupted_is_finished_on_the_next_start(tmp_path):
    models = Models(tmp_path / "store", **SMALL)

    async def begin(desk):
        await desk.keep([mails(1)[0][0]], IMPORTANT)
        await desk.keep(mail for mail, _ in mails(3, first=1))
        before = fingerprint(models)
        number = desk.box.find("", desk.number, 1)[0].number
        await desk.answer(number, NOT)
        desk.box.take_back(desk.box.last_answer(desk.number))  # and here the process stops
        return before

    before = served(models, begin)

    async def finish(desk):
        await desk.settle()
        return fingerprint(desk.service.models)

    assert served(Models(tmp_path / "store", **SMALL), finish) == before


def test_nothing_to_undo_and_too_late_to_undo_are_said(tmp_path):
    models = Models(tmp_path / "store", **SMALL)

    async def work(desk):
        with pytest.raises(Unknown, match="nothing to undo"):
            await desk.undo()
        await desk.keep(mail for mail, _ in mails(2))
        await desk.answer(1, NOT)
        models.write_base(models.model(MODEL))
        with pytest.raises(Gone, match="compacted"):
            await desk.undo()

    served(models, work)


def test_search_finds_words_in_any_part_and_takes_signs_literally(models, box):
    import_sorted(models, box, mails(30))
    number = models.model(MODEL).number
    assert {
        "deadline" in (each.subject + box.text(each.number)) for each in box.find("DEADLINE", number, 50)
    } == {True}
    assert box.find("deadline work.example", number, 50)
    assert box.find("%", number, 50) == box.find("_", number, 50) == []
    assert len(box.find("", number, 7)) == 7


def test_a_third_class_or_a_foreign_model_is_no_trouble(models, box):
    import_sorted(models, box, mails(30))
    fresh = [features(read_mail(letter(seed, seed % 2 == 0))) for seed in range(100, 110)]
    marks = Marks(fresh)
    models.feedback(MODEL, "spam", Example(features={"zebra": 1.0}))
    marks.look(models.model(MODEL))
    assert [marks.mark(at).label for at in range(10)] == [IMPORTANT, NOT] * 5
    models.delete(MODEL)
    models.create(MODEL)
    models.feedback(MODEL, "spam", Example(text="sale"))
    marks.look(models.model(MODEL))
    assert {marks.mark(at).label for at in range(10)} == {"undecided"}
    with pytest.raises(Conflict, match="other settings"):
        import_sorted(models, box, mails(3))


def test_what_is_refused_was_never_said(tmp_path):
    models = Models(tmp_path / "store", **SMALL)

    async def work(desk):
        await desk.keep(mail for mail, _ in mails(2))
        desk.service.closing = True
        with pytest.raises(Closing):
            await desk.answer(1, NOT)
        desk.service.closing = False
        assert desk.box.told(1, desk.number) is None
        assert await desk.learn_waiting() == (0, 0)

    served(models, work)


def test_a_message_without_a_date_or_from_the_future_is_as_old_as_its_arrival(models, box):
    models.create(MODEL, SETTINGS)
    box.add(
        [
            read_mail(b"Subject: undated\n\nx"),
            read_mail(b"Subject: future\nDate: 1 Jan 2400 00:00 +0000\n\nx"),
        ]
    )
    assert len({each.sent <= time.time() for each in box.find("", 1, 9)}) == 1


def test_a_model_that_was_deleted_takes_its_answers_with_it(models, box):
    import_sorted(models, box, mails(6))
    models.delete(MODEL)
    again = import_sorted(models, box, mails(6))
    assert (again.new, again.learned) == (0, 6)
    number = models.model(MODEL).number
    told = box.told_among([each.number for each in box.find("", number, 9)], number)
    assert sorted(told.values()) == [IMPORTANT] * 3 + [NOT] * 3
