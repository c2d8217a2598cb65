"""Mail as it arrives: from a Maildir, and from a real IMAP server where Dovecot is installed."""

import grp
import mailbox
import os
import pwd
import shutil
import socket
import ssl
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from tests.cli.commands import run, run_well
from tests.mail.messages import message
from tests.patience import SECONDS

from rosenblatt.mail.mailbox import Mailbox
from rosenblatt.mail.watch import (
    ImapSource,
    MaildirSource,
    SourceRefused,
    SourceUnavailable,
    parse_address,
    read_password,
    take,
)


def subjects(letters):
    return [
        letter.content.partition(b"Subject: ")[2].partition(b"\n")[0].decode().strip() for letter in letters
    ]


@pytest.fixture
def maildir(tmp_path):
    return mailbox.Maildir(tmp_path / "Maildir")


def deliver(maildir, subject, age=0):
    """Deliver a message into ``new``, as a mail server does."""
    key = maildir.add(message(subject, f"text of {subject}"))
    [path] = (Path(maildir._path) / "new").glob(f"{key}*")
    now = time.time() - age
    os.utime(path, (now, now))
    path.chmod(0o644)
    return key


def test_a_maildir_is_polled_and_a_message_that_moves_or_gets_flags_is_not_new(maildir, tmp_path):
    for at in range(5):
        deliver(maildir, f"old {at}", age=100 - at)
    source = MaildirSource(tmp_path / "Maildir", existing=2)
    assert subjects(source.poll()) == ["old 3", "old 4"]
    assert source.poll() == []
    key = deliver(maildir, "new one")
    assert subjects(source.poll()) == ["new one"]
    seen = maildir[key]
    seen.set_subdir("cur")
    seen.set_flags("S")
    maildir[key] = seen
    assert source.poll() == []
    assert MaildirSource(tmp_path / "Maildir", existing=0).poll() == []
    with pytest.raises(ValueError, match="not a Maildir"):
        MaildirSource(tmp_path)


def test_arrivals_are_kept_once_and_what_is_not_mail_is_listed(maildir, tmp_path):
    deliver(maildir, "one")
    (tmp_path / "Maildir" / "new" / "garbage").write_bytes(b"no headers")
    box = Mailbox(tmp_path)
    arrived = take(MaildirSource(tmp_path / "Maildir"), box)
    assert (arrived.letters, arrived.new, arrived.failures.total) == (2, 1, 1)
    assert take(MaildirSource(tmp_path / "Maildir"), box).new == 0
    assert [each.subject for each in box.find("", 0, 9)] == ["one"]
    box.close()


def test_the_command_watches_a_maildir(maildir, tmp_path):
    deliver(maildir, "one")
    deliver(maildir, "two")
    command = ["mail", "watch", str(tmp_path / "Maildir"), "--once", "--data", str(tmp_path / "store")]
    assert "2 messages arrived, 2 of them new" in run_well(command).stdout
    assert "2 messages arrived, 0 of them new" in run_well(command).stdout
    assert (tmp_path / "store").stat().st_mode & 0o077 == 0


def test_a_password_is_never_an_argument_and_its_file_is_private(tmp_path):
    refused = run(["mail", "watch", "imaps://ann:secret@mail.example.org/INBOX", "--data", str(tmp_path)])
    assert refused.exit_code == 2
    assert "password in the address" in refused.stderr
    assert "secret" not in refused.stderr
    path = tmp_path / "password"
    path.write_text("secret\n")
    path.chmod(0o644)
    with pytest.raises(ValueError, match="chmod 600"):
        read_password(path)
    path.chmod(0o600)
    assert read_password(path) == "secret"
    with pytest.raises(ValueError, match="imaps://USER@HOST"):
        parse_address("imaps://mail.example.org")
    with pytest.raises(ValueError, match="use imaps://"):
        parse_address("http://ann@mail.example.org")


OWN_USERS = """
default_internal_user = {name}
default_internal_group = {group_name}
default_login_user = {name}
"""  # of processes that only root can give other users
CONFIGURATION = """
base_dir = {folder}/run
state_dir = {folder}/state
log_path = {folder}/log
protocols = imap
listen = 127.0.0.1
ssl = required
ssl_cert = <{folder}/certificate.pem
ssl_key = <{folder}/key.pem
mail_location = maildir:{folder}/Maildir
mail_uid = {user}
mail_gid = {group}
first_valid_uid = 0
first_valid_gid = 0
passdb {{
  driver = static
  args = password=secret-ä
}}
userdb {{
  driver = static
  args = uid={user} gid={group} home={folder}
}}
service imap-login {{
  inet_listener imap {{
    port = {plain_port}
  }}
  inet_listener imaps {{
    port = {port}
    ssl = yes
  }}
}}
"""


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as sock:
        return sock.getsockname()[1]


class Dovecot:
    """A Dovecot of one's own on free ports of loopback, with a certificate that signs itself."""

    def __init__(self, folder):
        self.folder, self.port, self.plain_port = folder, free_port(), free_port()
        self.certificate = folder / "certificate.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
             "-addext", "subjectAltName=DNS:localhost", "-keyout", folder / "key.pem", "-out", self.certificate],
            check=True, capture_output=True,
        )  # fmt: skip
        self.maildir = mailbox.Maildir(folder / "Maildir")
        for path in (folder / "Maildir", *(folder / "Maildir").iterdir()):
            path.chmod(0o777)
        user = pwd.getpwnam("nobody") if os.getuid() == 0 else pwd.getpwuid(os.getuid())  # root has no mail
        values = {
            "folder": folder,
            "port": self.port,
            "plain_port": self.plain_port,
            "user": user.pw_uid,
            "group": user.pw_gid,
            "name": user.pw_name,
            "group_name": grp.getgrgid(user.pw_gid).gr_name,
        }
        configuration = CONFIGURATION if os.getuid() == 0 else OWN_USERS + CONFIGURATION
        (folder / "dovecot.conf").write_text(configuration.format(**values))
        self._process = subprocess.Popen(["dovecot", "-F", "-c", folder / "dovecot.conf"])
        deadline = time.monotonic() + SECONDS
        while True:
            try:
                with socket.create_connection(("127.0.0.1", self.port), timeout=SECONDS):
                    return
            except ConnectionRefusedError:
                assert self._process.poll() is None, (folder / "log").read_text()
                assert time.monotonic() < deadline
                pause()

    def address(self, scheme="imaps", host="localhost"):
        port = self.port if scheme == "imaps" else self.plain_port
        return f"{scheme}://ann@{host}:{port}/INBOX"

    def source(self, *, scheme="imaps", host="localhost", mailbox="INBOX", password="secret-ä", **options):
        address = parse_address(self.address(scheme, host))._replace(mailbox=mailbox)
        return ImapSource(address, password, **{"ca_file": self.certificate, **options})

    def flags(self):
        """Return the flags of all messages, as their file names have them."""
        files = [path.name for part in ("new", "cur") for path in (self.folder / "Maildir" / part).iterdir()]
        return sorted(name.partition(":2,")[2] for name in files)

    def stop(self):
        self._process.terminate()
        self._process.wait(SECONDS)


def pause():
    """Give the server a moment between two attempts to connect."""
    time.sleep(0.05)


@pytest.fixture(scope="module")
def running():
    for program in ("dovecot", "openssl"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed; apt-get install dovecot-imapd openssl")
    with tempfile.TemporaryDirectory(
        prefix="dovecot-"
    ) as folder:  # not below pytest's, which is root's alone
        Path(folder).chmod(0o755)
        server = Dovecot(Path(folder))
        yield server
        server.stop()


@pytest.fixture
def dovecot(running):
    running.maildir.clear()
    return running


@pytest.mark.parametrize("scheme", ["imaps", "imap"])
def test_imap_is_read_over_tls_and_nothing_there_changes(dovecot, scheme):
    for at in range(4):
        deliver(dovecot.maildir, f"old {at}")
    source = dovecot.source(scheme=scheme, existing=2)
    try:
        assert len(source.poll()) == 2
        assert source.poll() == []
        deliver(dovecot.maildir, "new one")
        [letter] = source.poll()
        assert subjects([letter]) == ["new one"]
        assert b"text of new one" in letter.content
        assert source.poll() == []
    finally:
        source.close()
    assert dovecot.flags() == [""] * 5  # nothing is marked as seen
    empty = dovecot.source(existing=0)
    assert empty.poll() == []
    deliver(dovecot.maildir, "later")
    assert subjects(empty.poll()) == ["later"]
    empty.close()


def test_a_connection_that_broke_is_made_anew(dovecot):
    source = dovecot.source()
    deliver(dovecot.maildir, "one")
    assert len(source.poll()) == 1
    source._connection.shutdown()
    with pytest.raises(SourceUnavailable):
        source.poll()
    deliver(dovecot.maildir, "two")
    assert subjects(source.poll()) == ["two"]
    source.close()


def test_a_certificate_that_is_not_trusted_is_refused(dovecot):
    with pytest.raises(SourceRefused, match=r"certificate.*--ca-file"):
        dovecot.source(ca_file=None).poll()
    with pytest.raises(SourceRefused, match="certificate"):  # it is for another name
        dovecot.source(host="127.0.0.1").poll()
    assert ssl.create_default_context().verify_mode == ssl.CERT_REQUIRED


def test_a_mailbox_may_have_any_name_and_an_unknown_one_is_refused(dovecot):
    deliver(dovecot.maildir.add_folder("Gel&APY-scht R&-D"), "elsewhere")
    folder = dovecot.folder / "Maildir" / ".Gel&APY-scht R&-D"
    for path in (folder, *folder.iterdir()):
        path.chmod(0o777)
    source = dovecot.source(mailbox="Gelöscht R&D")
    assert subjects(source.poll()) == ["elsewhere"]
    source.close()
    with pytest.raises(SourceRefused, match="mailbox 'Nowhere'"):
        dovecot.source(mailbox="Nowhere").poll()
    with pytest.raises(SourceRefused, match="cannot sign in"):
        dovecot.source(password="wrong").poll()


def test_a_watch_that_was_stopped_goes_on_where_it_ended(dovecot, tmp_path):
    """However many messages came meanwhile: ``existing`` is for the first watch of a source."""
    box = Mailbox(tmp_path)
    deliver(dovecot.maildir, "one")
    first = dovecot.source()
    assert take(first, box).new == 1
    first.close()
    for at in range(3):
        deliver(dovecot.maildir, f"meanwhile {at}")
    second = dovecot.source(existing=1)
    second.resume(box.position(second.name))
    assert take(second, box).new == 3
    assert second.poll() == []
    second.close()
    own = mailbox.Maildir(tmp_path / "Maildir")
    deliver(own, "old", age=1000)
    deliver(own, "first", age=100)
    watched = MaildirSource(tmp_path / "Maildir", existing=1)
    assert take(watched, box).letters == 1
    for at in range(3):
        deliver(own, f"later {at}", age=9 - at)
    again = MaildirSource(tmp_path / "Maildir", existing=1)
    again.resume(box.position(again.name))
    assert subjects(again.poll()) == ["first", "later 0", "later 1", "later 2"]
    box.close()


def test_the_command_reads_imap_with_a_password_from_a_file(dovecot, tmp_path):
    deliver(dovecot.maildir, "one")
    (tmp_path / "password").write_text("secret-ä\n", encoding="utf-8")
    (tmp_path / "password").chmod(0o600)
    options = ["--ca-file", str(dovecot.certificate), "--once", "--data", str(tmp_path / "store")]
    answer = run_well(
        ["mail", "watch", dovecot.address(), "--password-file", str(tmp_path / "password"), *options]
    )
    assert "1 message arrived, 1 of them new" in answer.stdout
    options.remove("--once")  # a refusal ends the watch: to try again would lock the account
    refused = run(["mail", "watch", dovecot.address(), *options], input="wrong\n")
    assert "ann cannot sign in" in refused.stderr
    assert refused.exit_code == 2
