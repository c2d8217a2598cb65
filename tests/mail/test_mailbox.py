"""Mail in the folder of a store: it is deleted with the model that it belongs to."""

from tests.cli.commands import run, run_well
from tests.service.test_delete import MARKER, files_with, opened

from rosenblatt.mail.filter import import_sorted
from rosenblatt.mail.mailbox import Mailbox, StoredMail
from rosenblatt.mail.marks import MODEL
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
