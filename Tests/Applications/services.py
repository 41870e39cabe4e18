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
