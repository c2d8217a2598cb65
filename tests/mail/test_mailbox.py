"""Mail in the folder of a store: it is deleted with the model that it belongs to."""

from tests.cli.commands import run, run_well
from tests.service.test_delete import MARKER, files_with, opened

from rosenblatt.mail.filter import import_sorted, settle
from rosenblatt.mail.mailbox import NO_MODEL, Mailbox, StoredMail
from rosenblatt.mail.marks import MODEL, SETTINGS
from rosenblatt.mail.message import Mail
from rosenblatt.service.maintenance import compact, verify
from rosenblatt.service.schemas import Example


def test_mail_is_deleted_with_the_model_of_the_filter(tmp_path):
    text = f"All of {MARKER}."
    mail = Mail(b"1" * 16, 1.0, f"{MARKER}@example.org", MARKER, f"About {MARKER}", text, 1, False, 0, ())
    models = opened(tmp_path)
    box = Mailbox(tmp_path)
    import_sorted(models, box, [(mail, "important")])
    box.close()
    models.predict(MODEL, [Example(features={MARKER: 1.0})])
    models.close()
    assert verify(tmp_path, [StoredMail()])[0] == []
    models = opened(tmp_path)
    models.delete(MODEL)
    models.close()
    verdict = run(["store", "verify", "--data", str(tmp_path)])
    assert verdict.exit_code == 1
    assert "mail messages" in verdict.stdout
    compact(tmp_path, [StoredMail()])
    assert files_with(tmp_path) == []
    run_well(["store", "verify", "--data", str(tmp_path)])


def message(number):
    return Mail(bytes([number]) * 16, 1.0, "ann@example.org", "Ann", "Hello", "How are you?", 1, False, 0, ())


def test_messages_that_came_before_any_model_are_not_left_over(tmp_path):
    opened(tmp_path).close()
    box = Mailbox(tmp_path)
    box.add(
        [message(1), message(2)], labels=[None, "important"]
    )  # an import that was killed before it had a model
    box.close()
    run_well(["store", "verify", "--data", str(tmp_path)])
    compact(tmp_path, [StoredMail()])
    models, box = opened(tmp_path), Mailbox(tmp_path)
    assert box.count() == 2
    models.create(MODEL, SETTINGS)
    settle(models, box)  # the next process finishes the import
    assert models.info(MODEL).clock == 1
    assert box.waiting(NO_MODEL) == []
    box.close()
    models.close()


def test_messages_are_deleted_with_a_model_that_nobody_has_corrected(tmp_path):
    models = opened(tmp_path)
    box = Mailbox(tmp_path)
    box.add([message(1)])
    import_sorted(models, box, [(message(2), None)])
    box.close()
    models.delete(MODEL)
    models.close()
    verdict = run(["store", "verify", "--data", str(tmp_path)])
    assert verdict.exit_code == 1
    assert "2 mail messages of a model that was deleted" in verdict.stdout
    compact(tmp_path, [StoredMail()])
    box = Mailbox(tmp_path)
    assert box.count() == 0
    box.add([message(3)])  # what arrives afterwards waits for the next model
    box.close()
    run_well(["store", "verify", "--data", str(tmp_path)])
