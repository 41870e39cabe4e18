"""Programs of one user or machine that Tests/Applications/run tries: podcasts, chats, sensors."""

import textwrap

from application import Application, Feeds, query


class GPodder(Application):
    name, packages, command = "gpodder", ("gpodder",), "gpo"

    def __init__(self):
        self.feeds = Feeds()

    def database(self, machine):
        return machine.home / "gPodder/Database"

    def prepare(self, machine):
        machine.environment["GPODDER_HOME"] = str(self.database(machine).parent)

    def begin(self, machine):
        self.write(machine, "first")

    def write(self, machine, tag):
        # A podcast of its own, and of one that all have an episode that is kept.
        machine.run("gpo", "subscribe", self.feeds.publish(tag))
        machine.python("""\
            import sys
            import gpodder
            gpodder.prefix = "/usr"
            from gpodder import core
            program = core.Core()
            for podcast in program.model.get_podcasts():
                for episode in podcast.get_all_episodes():
                    if episode.guid == sys.argv[1] + "0":
                        episode.mark_new() if episode.is_new else None
                        episode.mark_old()
                        episode.current_position = 7
                        episode.save()
            program.shutdown()
            """, tag)

    def shows(self, machine):
        return machine.python("""\
            import sys
            import gpodder
            gpodder.prefix = "/usr"
            from gpodder import core
            program = core.Core()
            for podcast in sorted(program.model.get_podcasts(), key=lambda one: one.url):
                print(podcast.title, podcast.url, podcast.download_folder)
                for episode in sorted(podcast.get_all_episodes(), key=lambda one: one.guid):
                    print(" ", episode.guid, episode.title, episode.state, episode.is_new, episode.current_position)
            """)


class Prosody(Application):
    name, packages, command = "prosody", ("prosody", "lua-dbi-sqlite3"), "prosodyctl"

    def database(self, machine):
        return machine.home / "data/prosody.sqlite"

    def prepare(self, machine):
        self.database(machine).parent.mkdir(exist_ok=True)
        (machine.home / "certs").mkdir()
        (machine.home / "prosody.cfg.lua").write_text(textwrap.dedent(f"""\
            data_path = "{machine.home}/data"
            pidfile = "{machine.home}/prosody.pid"
            storage = "sql"
            sql = {{ driver = "SQLite3", database = "prosody.sqlite" }}
            authentication = "internal_plain"
            log = {{ error = "{machine.home}/errors.log" }}
            VirtualHost "example.org"
            """))

    def begin(self, machine):
        self.write(machine, "first")

    def write(self, machine, tag):
        machine.run(
            "prosodyctl", "--root", "--config", machine.home / "prosody.cfg.lua", "register", tag, "example.org",
            "of " + tag)

    def shows(self, machine):
        return query(self.database(machine), 'SELECT host, "user", store, "key", type, value FROM prosody')


class HomeAssistant(Application):
    name, packages, module, is_of_pip = "home-assistant", (
        "homeassistant==2024.3.3", "sqlalchemy==2.0.28", "fnv-hash-fast", "psutil-home-assistant",
    ), "homeassistant.components.recorder", True

    PROGRAM = """\
        import asyncio, datetime, sys
        from homeassistant import config_entries, core, loader
        from homeassistant.components.recorder import get_instance, history
        from homeassistant.components.recorder.db_schema import StatesMeta
        from homeassistant.components.recorder.util import session_scope
        from homeassistant.helpers import recorder, translation
        from homeassistant.setup import async_setup_component
        from homeassistant.util import dt
        path, tag = sys.argv[1], sys.argv[2]

        async def main():
            hass = core.HomeAssistant(path.rsplit("/", 1)[0])
            loader.async_setup(hass)
            if hasattr(translation, "async_setup"): translation.async_setup(hass)
            hass.config_entries = config_entries.ConfigEntries(hass, {})
            hass.config.skip_pip = True
            # What the recorder would serve a browser with.
            hass.data["websocket_api"] = {}
            hass.config.components.update(["http", "websocket_api"])
            recorder.async_initialize_recorder(hass)
            settings = {"db_url": "sqlite:///" + path, "commit_interval": 0, "auto_purge": False}
            if not await async_setup_component(hass, "recorder", {"recorder": settings}):
                raise SystemExit("the recorder does not start")
            await hass.async_start()
            await hass.async_block_till_done()
            instance = get_instance(hass)
            await instance.async_recorder_ready.wait()
            await (write(hass, instance) if tag else instance.async_add_executor_job(show, hass))
            await hass.async_stop(force=True)

        async def write(hass, instance):
            hass.states.async_set("sensor.all", "of " + tag, {"made": tag})
            for value in "1", "2":
                hass.states.async_set("sensor." + tag, value, {"friendly_name": tag})
            await hass.async_block_till_done()
            await instance.async_add_executor_job(instance.block_till_done)

        def show(hass):
            with session_scope(hass=hass, read_only=True) as session:
                entities = sorted(one[0] for one in session.query(StatesMeta.entity_id) if one[0].startswith("sensor."))
            found = history.get_significant_states(
                hass, dt.utcnow() - datetime.timedelta(days=1), None, entities, include_start_time_state=False,
                significant_changes_only=False)
            for entity in entities:
                print(entity, [(one.state, dict(one.attributes)) for one in found[entity]])

        asyncio.run(main())
        """

    def database(self, machine):
        return machine.home / "config/home-assistant_v2.db"

    def begin(self, machine):
        self.database(machine).parent.mkdir()
        self.write(machine, "first")

    def write(self, machine, tag):
        self.shows(machine, tag)

    def shows(self, machine, tag=""):
        return machine.python(self.PROGRAM, self.database(machine), tag, interpreter=self.interpreter)


class CalibreWeb(Application):
    name, packages, module, is_of_pip = "calibre-web", ("calibreweb",), "calibreweb", True

    PROGRAM = """\
        import sys
        path, tag = sys.argv[1], sys.argv[2]
        # What it reads as its own command line.
        sys.argv[1:] = []
        from calibreweb.cps import ub
        ub.init_db(path)
        session = ub.session
        def user(name):
            found = session.query(ub.User).filter(ub.User.name == name).first()
            if not found:
                found = ub.User(name=name, email=name + "@x.example", password="", role=0)
                session.add(found)
                session.commit()
            return found
        if tag:
            # A user of its own and one that two machines may add, with a shelf each; a book on a shelf that all have.
            for owner, shelf in (tag, "of " + tag), ("user" + tag[-1], "shelf of " + tag), ("admin", "all"):
                found = session.query(ub.Shelf).filter(ub.Shelf.name == shelf).first()
                if not found:
                    found = ub.Shelf(name=shelf, user_id=user(owner).id, is_public=1)
                    session.add(found)
                found.books.append(ub.BookShelf(book_id=sum(tag.encode()), order=len(found.books.all()) + 1))
                session.add(ub.ReadBook(user_id=user(owner).id, book_id=sum(tag.encode()), read_status=1))
                session.commit()
        else:
            names = {one.id: one.name for one in session.query(ub.User)}
            for shelf in sorted(session.query(ub.Shelf), key=lambda one: one.name):
                print(shelf.name, names[shelf.user_id], sorted(one.book_id for one in shelf.books))
            print(sorted((names[one.user_id], one.book_id, one.read_status) for one in session.query(ub.ReadBook)))
        """

    def database(self, machine):
        return machine.home / "app.db"

    def begin(self, machine):
        self.write(machine, "first")

    def write(self, machine, tag):
        self.shows(machine, tag)

    def shows(self, machine, tag=""):
        return machine.python(self.PROGRAM, self.database(machine), tag, interpreter=self.interpreter)


class Mailman(Application):
    name, packages, command = "mailman", ("mailman3",), "mailman"

    def database(self, machine):
        return machine.home / "mailman.db"

    def prepare(self, machine):
        (machine.home / "mailman.cfg").write_text(textwrap.dedent(f"""\
            [mailman]
            layout: here
            [paths.here]
            var_dir: {machine.home}/var
            [mta]
            incoming: mailman.mta.null.NullMTA
            [database]
            class: mailman.database.sqlite.SQLiteDatabase
            url: sqlite:///{self.database(machine)}
            """))

    def mailman(self, machine, *arguments, input=None):
        return machine.run("mailman", "--run-as-root", "-C", machine.home / "mailman.cfg", *arguments, input=input)

    def begin(self, machine):
        self.mailman(machine, "create", "all@example.org")
        self.write(machine, "first")

    def write(self, machine, tag):
        # A list of its own, and in it and the one that all have a member of its own and one that two machines may add.
        self.mailman(machine, "create", f"{tag}@example.org")
        people = [f"of {tag} <{tag}@example.net>", f"someone <{tag[-1]}@example.net>"]
        self.mailman(machine, "addmembers", "-", f"{tag}@example.org", input="\n".join(people) + "\n")
        self.mailman(machine, "addmembers", "-", "all@example.org", input=people[0] + "\n")

    def shows(self, machine):
        lists = sorted(line for line in self.mailman(machine, "lists", "--quiet").split() if "@" in line)
        return "\n".join(
            "\n".join([name, *sorted(self.mailman(machine, "members", name).splitlines())]) for name in lists)
