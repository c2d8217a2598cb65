"""Answers about messages: each is learned once, whatever stops the process; what is taken back was never said."""

import asyncio
import random
import time

import pytest
from tests.mail.messages import letter, message

from rosenblatt.mail.features import features
from rosenblatt.mail.filter import LearnedAnswers, MailFilter, import_sorted, learn_waiting, settle
from rosenblatt.mail.mailbox import Mailbox
from rosenblatt.mail.marks import IMPORTANT, MODEL, NOT, SETTINGS, Marks
from rosenblatt.mail.message import read_mail
from rosenblatt.service.maintenance import Verdict, verify
from rosenblatt.service.models import Models
from rosenblatt.service.schemas import Example
from rosenblatt.service.writer import LocalModels, Service
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
    models = LocalModels(tmp_path / "store", **SMALL)
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
    twin = LocalModels(models.store.folder.parent / "twin", **SMALL)
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
            abs=0.3,  # what is too little to be a reason is left out
        )


def test_a_mark_has_the_probability_that_the_model_gives(models, box):
    fresh = [features(read_mail(letter(seed, seed % 3 == 0))) for seed in range(100, 110)]
    marks = Marks(fresh)
    import_sorted(models, box, mails(10))
    marks.look(models.model(MODEL))
    assert marks.mark(0).probability is None  # ten messages are too few
    import_sorted(models, box, mails(50, first=10))
    marks.look(models.model(MODEL))
    learner = models.model(MODEL).learner
    for at, each in enumerate(fresh):
        mark = marks.mark(at)
        assert mark.probability == pytest.approx(learner.predict_proba_one(each)[mark.label])


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
    [answer] = box.answer([number], models.model(MODEL).number, NOT)
    if where == "before its place is noted":
        models.feedback(MODEL, NOT, Example(features=box.features(number)), key=answer.key)
    settle(models, box)
    assert models.info(MODEL).clock == 11
    assert learn_waiting(models, box) == LearnedAnswers()
    assert box.answer_to(number, models.model(MODEL).number) == NOT


def served(models, work):
    async def run():
        service = Service(models)
        service.start()
        box = Mailbox(models.store.folder)
        try:
            return await work(MailFilter(service, box))
        finally:
            box.close()
            await service.stop()

    return asyncio.run(run())


def test_what_is_taken_back_is_as_if_it_had_never_been_said(tmp_path):
    models = Models(tmp_path / "store", **SMALL)

    async def work(mail_filter):
        await mail_filter.keep(mail for mail, _ in mails(12))
        numbers = [each.number for each in mail_filter.box.find("", mail_filter.number, 20)]
        for number in numbers[:4]:
            await mail_filter.answer([number], IMPORTANT)
        await mail_filter.service.snapshot(MODEL)
        before = fingerprint(models), models.info(MODEL).mistakes
        await mail_filter.answer([numbers[5]], NOT)
        await mail_filter.service.snapshot(MODEL)
        await mail_filter.answer([numbers[6]], IMPORTANT)
        for _ in range(2):
            taken = await mail_filter.undo()
        assert [each.message for each in taken] == [numbers[5]]
        assert (fingerprint(models), models.info(MODEL).mistakes) == before
        assert mail_filter.box.answer_to(numbers[5], mail_filter.number) is None
        await mail_filter.answer([numbers[7]], NOT)  # and it goes on
        assert models.model(MODEL).counts.seq == 7
        lines = [line.seq for line in await mail_filter.service.ledger(MODEL)]
        assert 5 not in lines
        assert 6 not in lines
        return fingerprint(models), [
            (each.number, each.answer) for each in mail_filter.box.find("", mail_filter.number, 20)
        ]

    after, told = served(models, work)
    assert verify(tmp_path / "store") == ([], [Verdict(MODEL, 5, after, ())])
    again = LocalModels(tmp_path / "store", **SMALL)
    assert fingerprint(again) == after
    box = Mailbox(again.store.folder)
    assert [(each.number, each.answer) for each in box.find("", again.model(MODEL).number, 20)] == told
    box.close()
    again.close()


def test_taking_back_that_was_interrupted_is_finished_on_the_next_start(tmp_path):
    models = Models(tmp_path / "store", **SMALL)

    async def begin(mail_filter):
        await mail_filter.keep([mails(1)[0][0]], IMPORTANT)
        await mail_filter.keep(mail for mail, _ in mails(3, first=1))
        before = fingerprint(models)
        number = mail_filter.box.find("", mail_filter.number, 1)[0].number
        await mail_filter.answer([number], NOT)
        mail_filter.box.take_back(
            mail_filter.box.last_answers(mail_filter.number)
        )  # and here the process stops
        return before

    before = served(models, begin)

    async def finish(mail_filter):
        await mail_filter.settle()
        return fingerprint(mail_filter.service.models)

    assert served(Models(tmp_path / "store", **SMALL), finish) == before


def test_the_same_answer_twice_teaches_once(tmp_path):
    models = Models(tmp_path / "store", **SMALL)

    async def work(mail_filter):
        await mail_filter.keep(mail for mail, _ in mails(6))
        numbers = [each.number for each in mail_filter.box.find("", mail_filter.number, 20)]
        both = await asyncio.gather(*(mail_filter.answer(numbers[:1], IMPORTANT) for _ in range(2)))
        assert sorted(each.learned for each in both) == [0, 1]
        assert (await mail_filter.answer(numbers[:3], IMPORTANT)).learned == 2
        assert len(await mail_filter.undo()) == 2
        assert models.model(MODEL).learner.rows == 1

    served(models, work)


def test_many_answers_are_given_and_taken_back_as_one(tmp_path):
    models = Models(tmp_path / "store", **SMALL)

    async def work(mail_filter):
        await mail_filter.keep(mail for mail, _ in mails(12))
        numbers = [each.number for each in mail_filter.box.find("", mail_filter.number, 20)]
        await mail_filter.answer(numbers[:1], NOT)
        before = fingerprint(models)
        counts = await mail_filter.answer(numbers[1:9], IMPORTANT)
        assert counts.learned == 8
        assert fingerprint(models) != before
        taken = await mail_filter.undo()
        assert sorted(each.message for each in taken) == sorted(numbers[1:9])
        assert fingerprint(models) == before
        assert [each.message for each in await mail_filter.undo()] == numbers[:1]
        assert not await mail_filter.can_undo()

    served(models, work)


def undated(at, important):
    words = "budget deadline" if important else "sale discount"
    return read_mail(f"Subject: {words} {at}\n\n{words} text".encode()), IMPORTANT if important else NOT


def test_messages_without_a_date_are_learned_class_by_class_in_turn(models, box):
    """One class after the other, the model would mark the first class wrong in the end."""
    items = [undated(at, True) for at in range(30)] + [undated(at, False) for at in range(10)]
    imported = import_sorted(models, box, items)
    assert (imported.learned, imported.dated, imported.mistakes) == (40, 0, 0)
    labels = [entry.label for entry in models.store.entries(models.model(MODEL).number, 0)]
    assert [labels[at : at + 4].count(NOT) for at in range(0, 40, 4)] == [1] * 10
    assert box.learned_without_date(models.model(MODEL).number) == 40


def test_messages_without_a_date_come_after_those_with_one(models, box):
    imported = import_sorted(models, box, [undated(0, True), *mails(4), undated(1, False)])
    assert (imported.learned, imported.dated) == (6, 4)
    entries = list(models.store.entries(models.model(MODEL).number, 0))
    assert ["budget" in each.features and "text" in each.features for each in entries[4:]] == [True, False]
    assert not any("text" in each.features for each in entries[:4])


def test_a_listing_is_marked_anew_and_counts_do_not_depend_on_the_search(tmp_path):
    models = Models(tmp_path / "store", **SMALL)

    async def work(mail_filter):
        await mail_filter.keep(mail for mail, _ in mails(12))
        assert await mail_filter.unsure() == 12
        found = await mail_filter.listing("deadline")
        assert 0 < len(found) < 12
        assert await mail_filter.unsure() == 12
        number = found.messages[0].number
        await mail_filter.answer([number], IMPORTANT)
        await mail_filter.refresh(found, answers=True)
        assert found.mark(0).label == IMPORTANT
        assert found.answers == {number: IMPORTANT}
        assert await mail_filter.unsure() < 12
        assert await mail_filter.listing() is await mail_filter.listing()
        await mail_filter.keep(mail for mail, _ in mails(2, first=40))
        assert len(await mail_filter.listing()) == 14

    served(models, work)


def test_nothing_to_undo_and_too_late_to_undo_are_said(tmp_path):
    models = Models(tmp_path / "store", **SMALL)

    async def work(mail_filter):
        with pytest.raises(Unknown, match="nothing to undo"):
            await mail_filter.undo()
        await mail_filter.keep(mail for mail, _ in mails(2))
        await mail_filter.answer([1], NOT)
        models.write_base(models.model(MODEL))
        with pytest.raises(Gone, match="compacted"):
            await mail_filter.undo()

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

    async def work(mail_filter):
        await mail_filter.keep(mail for mail, _ in mails(2))
        mail_filter.service.closing = True
        with pytest.raises(Closing):
            await mail_filter.answer([1], NOT)
        mail_filter.service.closing = False
        assert mail_filter.box.answer_to(1, mail_filter.number) is None
        assert await mail_filter.learn_waiting() == LearnedAnswers()

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
    told = box.answers_among([each.number for each in box.find("", number, 9)], number)
    assert sorted(told.values()) == [IMPORTANT] * 3 + [NOT] * 3


def test_an_import_chooses_what_was_wrong_least_often_and_later_ones_go_on_with_it(tmp_path):
    """Where labels are often wrong AROW leads, whose steps become smaller; few messages choose nothing."""
    rng = random.Random(0)
    items = []
    for at in range(400):
        important = rng.random() < 0.5
        words = rng.choices(("budget", "contract") if important else ("sale", "prize"), k=2)
        mail = read_mail(message(f"{words[0]} {at}", f"{words[1]} {rng.choice('abcdefgh') * 3}", hours=at))
        items.append((mail, IMPORTANT if important != (rng.random() < 0.3) else NOT))
    for count, rule in ((150, "passive-aggressive"), (400, "arow")):
        models = LocalModels(tmp_path / str(count))
        box = Mailbox(models.store.folder)
        imported = import_sorted(models, box, items[:count])
        assert (imported.learned, models.info(MODEL).clock) == (count, count)
        assert models.model(MODEL).settings.rule == rule
        again = import_sorted(models, box, [(read_mail(message("budget again", "contract")), IMPORTANT)])
        assert (again.new, again.learned) == (1, 1)
        assert models.model(MODEL).settings.rule == rule
        box.close()
        models.close()
