"""Websites in PHP that Tests/Applications/run tries, each by its own functions and without a server."""

import pathlib
import shutil
import textwrap

from application import SOURCES, Application, Feeds

WORDPRESS = pathlib.Path("/usr/share/wordpress")
ILLUMINATE = pathlib.Path("/usr/share/php/Illuminate/Database")


class Website(Application):
    command = "php"
    # What its functions are loaded by.
    LOADER = ""

    def php(self, machine, program, *arguments):
        # What an older application says of a newer PHP is nobody's business.
        text = textwrap.dedent(self.LOADER) + textwrap.dedent(program)
        return machine.run("php", "-d", "error_reporting=1", "-r", text, "--", *arguments)


class WordPress(Website):
    name, packages = "wordpress", ("wordpress", "php-sqlite3")
    sources = ("sqlite-database-integration",)

    LOADER = """\
        $_SERVER["HTTP_HOST"] = "localhost";
        $_SERVER["REQUEST_URI"] = "/";
        if (!filesize("site/wp-content/database/.ht.sqlite")) define("WP_INSTALLING", true);
        require "site/wp-load.php";
        $tag = $argv[1] ?? "";
        """
    CONFIGURATION = """\
        <?php
        foreach (["NAME", "USER", "PASSWORD", "HOST", "CHARSET", "COLLATE"] as $name) define("DB_$name", "");
        foreach (["AUTH", "SECURE_AUTH", "LOGGED_IN", "NONCE"] as $name) {
            define("{$name}_KEY", "x");
            define("{$name}_SALT", "x");
        }
        define("DISABLE_WP_CRON", true);
        define("WP_HTTP_BLOCK_EXTERNAL", true);
        $table_prefix = "wp_";
        define("ABSPATH", __DIR__ . "/");
        require_once ABSPATH . "wp-settings.php";
        """

    def missing(self):
        return super().missing() or (None if WORDPRESS.is_dir() else str(WORDPRESS))

    def database(self, machine):
        return machine.home / "site/wp-content/database/.ht.sqlite"

    def prepare(self, machine):
        site, plugin = machine.home / "site", SOURCES / "sqlite-database-integration"
        (site / "wp-content/plugins").mkdir(parents=True, exist_ok=True)
        for file in WORDPRESS.glob("*.php"):
            shutil.copy(file, site)
        for folder in "wp-includes", "wp-admin", "wp-content/themes":
            (site / folder).symlink_to(WORDPRESS / folder)
        (site / "wp-content/plugins" / plugin.name).symlink_to(plugin)
        shutil.copy(plugin / "db.copy", site / "wp-content/db.php")
        (site / "wp-config.php").write_text(textwrap.dedent(self.CONFIGURATION))

    def begin(self, machine):
        self.database(machine).parent.mkdir()
        self.database(machine).touch()
        self.php(machine, """\
            require ABSPATH . "wp-admin/includes/upgrade.php";
            wp_install("Blog", "admin", "a@b.example", true, "", "password");
            """)
        self.write(machine, "first")

    def write(self, machine, tag):
        # A post of an author of its own, in the category that all are in and with a tag, commented; and comments on a
        # post that all comment on.
        self.php(machine, """\
            function sure($made) {
                if (is_wp_error($made)) die($made->get_error_message());
                return $made;
            }
            $user = sure(wp_insert_user(["user_login" => $tag, "user_pass" => "x", "user_email" => "$tag@x.example"]));
            $post = sure(wp_insert_post([
                "post_title" => "of $tag", "post_content" => "x", "post_status" => "publish", "post_author" => $user,
                "tags_input" => [$tag], "post_category" => [1]], true));
            add_post_meta($post, "mood", "mood of $tag");
            foreach ([1, $post] as $place) {
                $comment = ["comment_post_ID" => $place, "comment_approved" => 1, "user_id" => $user];
                $first = wp_insert_comment($comment + ["comment_content" => "by $tag"]);
                wp_insert_comment($comment + ["comment_content" => "answer by $tag", "comment_parent" => $first]);
            }
            update_option("option_of_$tag", $tag);
            """, tag)

    def shows(self, machine):
        return self.php(machine, """\
            $lines = [];
            $login = fn($id) => $id ? get_user_by("id", $id)->user_login : "";
            foreach (get_posts(["numberposts" => -1, "post_type" => "any", "post_status" => "any"]) as $post) {
                $comments = get_comments(["post_id" => $post->ID, "status" => "approve"]);
                $count = $post->comment_count;
                if (count($comments) != $count) die("$post->post_title is said to have $count comments");
                $lines[] = join("|", [
                    $post->post_title, $login($post->post_author), $count, get_post_meta($post->ID, "mood", true),
                    join(",", wp_get_post_tags($post->ID, ["fields" => "names"])),
                    join(",", wp_get_post_categories($post->ID, ["fields" => "names"]))]);
                foreach ($comments as $comment) {
                    $above = $comment->comment_parent ? get_comment($comment->comment_parent)->comment_content : "";
                    $lines[] = "$post->post_title: $comment->comment_content <- $above, " . $login($comment->user_id);
                }
            }
            foreach (get_terms(["taxonomy" => ["post_tag", "category"], "hide_empty" => false]) as $term) {
                $count = count(get_objects_in_term($term->term_id, $term->taxonomy));
                if ($term->count != $count) die("$term->name is said to have $term->count and has $count");
                $lines[] = "$term->taxonomy $term->name $count";
            }
            sort($lines);
            echo join("\\n", $lines), "\\n";
            foreach (wp_load_alloptions() as $name => $value)
                if (str_starts_with($name, "option_of_")) $options[] = $value;
            sort($options);
            echo join(",", $options), "\\n";
            """)


class Kanboard(Website):
    name, sources = "kanboard", ("kanboard",)

    LOADER = """\
        require getenv("KANBOARD") . "/app/common.php";
        $of = fn($name) => $container[$name];
        $tag = $argv[1] ?? "";
        """

    def database(self, machine):
        return machine.home / "board/db.sqlite"

    def prepare(self, machine):
        (machine.home / "board/files").mkdir(parents=True, exist_ok=True)
        machine.environment["DATA_DIR"] = str(machine.home / "board")
        machine.environment["KANBOARD"] = str(SOURCES / "kanboard")

    def begin(self, machine):
        self.php(machine, '$of("projectModel")->create(["name" => "Everyone"], 1, true);')
        self.write(machine, "first")

    def write(self, machine, tag):
        # A project and a user of its own, and in each of two projects a task; both are linked, and one is moved.
        self.php(machine, """\
            $own = $of("projectModel")->create(["name" => "of $tag"], 1, true);
            $all = $of("projectModel")->getByName("Everyone")["id"];
            $user = $of("userModel")->create(["username" => $tag, "password" => "x", "role" => "app-user"]);
            $of("projectUserRoleModel")->addUser($all, $user, "project-member");
            $kind = $of("categoryModel")->create(["project_id" => $all, "name" => "kind of $tag"]);
            foreach ([$own, $all] as $project) {
                $task = $tasks[] = $of("taskCreationModel")->create([
                    "project_id" => $project, "title" => $project == $own ? "own of $tag" : "other of $tag",
                    "owner_id" => $project == $own ? 1 : $user, "category_id" => $project == $own ? 0 : $kind,
                    "tags" => ["everything", $tag]]);
                $of("commentModel")->create(["task_id" => $task, "user_id" => $user, "comment" => "comment of $tag"]);
                $of("subtaskModel")->create(["task_id" => $task, "title" => "part of $tag", "user_id" => $user]);
            }
            $of("taskLinkModel")->create($tasks[0], $tasks[1], 1);
            $columns = $of("columnModel")->getAll($all);
            $lane = $of("swimlaneModel")->getFirstActiveSwimlane($all)["id"];
            $of("taskPositionModel")->movePosition($all, $tasks[1], $columns[1]["id"], 1, $lane);
            """, tag)

    def shows(self, machine):
        return self.php(machine, """\
            $list = function ($names) { sort($names); return join(",", $names); };
            $each = fn($model, $task, $shown) => array_map($shown, $of($model)->getAll($task["id"]));
            foreach ($of("projectModel")->getAll() as $project) {
                $id = $project["id"];
                foreach ($of("taskFinderModel")->getAll($id) as $found) {
                    $task = $of("taskFinderModel")->getDetails($found["id"]);
                    $lines[] = join("|", [
                        $project["name"], $task["title"], $task["column_title"], $task["swimlane_name"],
                        $task["category_name"], $task["assignee_username"], $task["creator_username"],
                        $list($of("taskTagModel")->getList($task["id"])),
                        $list($each("commentModel", $task, fn($one) => "$one[comment] $one[username]")),
                        $list($each("subtaskModel", $task, fn($one) => "$one[title] $one[username]")),
                        $list($each("taskLinkModel", $task, fn($one) => "$one[label] $one[title]"))]);
                }
                $lines[] = join("|", [
                    $project["name"], $list($of("projectUserRoleModel")->getAssignableUsersList($id, false)),
                    $list($of("columnModel")->getList($id)), $list($of("categoryModel")->getList($id, false)),
                    $list($of("tagModel")->getAssignableList($id))]);
                foreach ($of("columnModel")->getAllWithTaskCount($id) as $column)
                    $lines[] = "$project[name] $column[title] $column[nb_open_tasks]";
            }
            sort($lines);
            echo join("\\n", $lines), "\\n";
            """)


class FreshRSS(Website):
    name, sources = "freshrss", ("freshrss",)

    LOADER = """\
        chdir(getenv("FRESHRSS"));
        require "cli/_cli.php";
        cliInitUser("admin");
        $entries = FreshRSS_Factory::createEntryDao();
        $labels = FreshRSS_Factory::createTagDao();
        $categories = FreshRSS_Factory::createCategoryDao();
        $tag = $argv[1] ?? "";
        """

    def __init__(self):
        self.feeds = Feeds()

    def database(self, machine):
        return machine.home / "data/users/admin/db.sqlite"

    def prepare(self, machine):
        machine.environment["FRESHRSS"] = str(SOURCES / "freshrss")
        machine.environment["DATA_PATH"] = str(machine.home / "data")
        kept = machine.home / "kept.sqlite"
        if self.database(machine).exists():
            self.database(machine).rename(kept)
        shutil.copytree(SOURCES / "freshrss/data", machine.home / "data", dirs_exist_ok=True)
        shutil.rmtree(self.database(machine).parent, ignore_errors=True)
        for command in (
            ("prepare",), ("do-install", "--default-user", "admin", "--auth-type", "none", "--db-type", "sqlite"),
            ("create-user", "--user", "admin", "--password", "password"),
        ):
            machine.run("php", "-d", "error_reporting=1", SOURCES / "freshrss/cli" / f"{command[0]}.php", *command[1:])
        if kept.exists():
            kept.replace(self.database(machine))

    def begin(self, machine):
        self.write(machine, "first")

    def write(self, machine, tag):
        # A feed of its own, in a category of its own or one that two may make; an article of it and one that all read.
        self.php(machine, """\
            foreach ([$tag, substr($tag, -1)] as $name)
                $category = $categories->searchByName($name)?->id() ?? $categories->addCategory(["name" => $name]);
            FreshRSS_feed_Controller::addFeed($argv[2], "", $category);
            foreach ($entries->listWhere("a", 0, FreshRSS_Entry::STATE_ALL, "ASC", 1000) as $entry) {
                if (!in_array($entry->guid(), ["{$tag}0", "first" . strlen($tag) % 3])) continue;
                $entries->markRead($entry->id(), true);
                foreach (["everything", $tag] as $name) {
                    $label = $labels->searchByName($name)?->id() ?? $labels->addTag(["name" => $name]);
                    $labels->tagEntry($label, $entry->id());
                }
            }
            """, tag, self.feeds.publish(tag))

    def shows(self, machine):
        return self.php(machine, """\
            foreach ($categories->listCategories(true) as $category) {
                $lines[] = "category " . $category->name();
                foreach ($category->feeds() as $feed) {
                    [$all, $new] = [0, 0];
                    foreach ($entries->listWhere("f", $feed->id(), FreshRSS_Entry::STATE_ALL, "ASC", 1000) as $entry) {
                        $all_labels = $labels->getTagsForEntry($entry->id()) ?: [];
                        $names = array_column(array_filter($all_labels, fn($label) => $label["checked"]), "name");
                        sort($names);
                        $state = $entry->isRead() ? "read" : "new";
                        $lines[] = join(" ", [$entry->title(), $feed->url(), $state, ...$names]);
                        $all++;
                        $new += $entry->isRead() ? 0 : 1;
                    }
                    $counts = [$feed->nbEntries(), $feed->nbNotRead()];
                    if ($counts != [$all, $new]) die($feed->url() . " says " . join(",", $counts) . ": $all, $new");
                    $lines[] = join(" ", [$category->name(), $feed->url(), $all, $new]);
                }
            }
            sort($lines);
            echo join("\\n", $lines), "\\n";
            """)


class Laravel(Website):
    name, packages = "laravel", ("php-illuminate-database", "php-illuminate-events", "php-sqlite3")
    decisions = (
        "--reference", "taggables.tag_id=tags", "--reference", "taggables.taggable_id=posts", "--identity", "tags=name")

    LOADER = """\
        foreach (["Database", "Events", "Container", "Support", "Pipeline"] as $part)
            require_once "/usr/share/php/Illuminate/$part/autoload.php";
        use Illuminate\\Database\\{Capsule\\Manager, Eloquent\\Model, Eloquent\\SoftDeletes, Schema\\Blueprint};
        use Illuminate\\Database\\Migrations\\{DatabaseMigrationRepository, Migration};
        [, $path, $tag] = $argv;
        touch($path);
        $manager = new Manager;
        $manager->addConnection(["driver" => "sqlite", "database" => $path, "foreign_key_constraints" => true]);
        $manager->setEventDispatcher(new Illuminate\\Events\\Dispatcher(new Illuminate\\Container\\Container));
        $manager->setAsGlobal();
        $manager->bootEloquent();
        class User extends Model {
            protected $guarded = [];
            function posts() { return $this->hasMany(Post::class); }
            function roles() { return $this->belongsToMany(Role::class); }
        }
        class Role extends Model { protected $guarded = []; }
        class Tag extends Model { protected $guarded = []; }
        class Post extends Model {
            use SoftDeletes;
            protected $guarded = [];
            function tags() { return $this->morphToMany(Tag::class, "taggable"); }
        }
        class First extends Migration {
            function up($schema) {
                $schema->create("users", function (Blueprint $table) {
                    $table->id();
                    $table->string("email")->unique();
                    $table->unsignedInteger("posts_count")->default(0);
                    $table->timestamps();
                });
                $schema->create("roles", function (Blueprint $table) {
                    $table->id();
                    $table->string("name");
                    $table->timestamps();
                });
                $schema->create("role_user", function (Blueprint $table) {
                    $table->foreignId("role_id")->constrained();
                    $table->foreignId("user_id")->constrained();
                    $table->primary(["role_id", "user_id"]);
                });
                $schema->create("posts", function (Blueprint $table) {
                    $table->id();
                    $table->foreignId("user_id")->constrained()->cascadeOnDelete();
                    $table->string("title");
                    $table->timestamps();
                    $table->softDeletes();
                });
                $schema->create("tags", function (Blueprint $table) {
                    $table->id();
                    $table->string("name")->unique();
                    $table->timestamps();
                });
                $schema->create("taggables", function (Blueprint $table) {
                    $table->foreignId("tag_id");
                    $table->morphs("taggable");
                });
            }
        }
        class Second extends Migration {
            function up($schema) {
                $schema->table("posts", fn(Blueprint $table) => $table->integer("stars")->default(3));
                $schema->create("likes", function (Blueprint $table) {
                    $table->id();
                    $table->foreignId("post_id")->constrained();
                    $table->foreignId("user_id")->constrained();
                });
            }
        }
        function migrate($name) {
            global $manager;
            $done = new DatabaseMigrationRepository($manager->getDatabaseManager(), "migrations");
            if (!$done->repositoryExists()) $done->createRepository();
            if (in_array($name, $done->getRan())) return;
            (new $name)->up(Manager::schema());
            $done->log($name, $done->getNextBatchNumber());
        }
        """.replace("\\", "\\")

    def missing(self):
        return super().missing() or (None if ILLUMINATE.is_dir() else "Illuminate")

    def database(self, machine):
        return machine.home / "database.sqlite"

    def laravel(self, machine, program, tag=""):
        return self.php(machine, program, self.database(machine), tag)

    def begin(self, machine):
        self.laravel(machine, 'migrate("First");')
        self.write(machine, "first")

    def write(self, machine, tag):
        # A user of its own with a post, a deleted one and a tag; and a post of the user that all write for.
        self.laravel(machine, """\
            $user = User::create(["email" => $tag]);
            $user->roles()->attach(Role::create(["name" => "role of $tag"]));
            foreach ([$user, User::first()] as $author) {
                $post = $author->posts()->create(["title" => "of $tag"]);
                $author->increment("posts_count");
                foreach (["everything", $tag] as $name) $post->tags()->attach(Tag::firstOrCreate(["name" => $name]));
            }
            $user->posts()->create(["title" => "gone of $tag"])->delete();
            if (Manager::schema()->hasTable("likes"))
                Manager::table("likes")->insert(["post_id" => $post->id, "user_id" => $user->id]);
            """, tag)

    def shows(self, machine):
        return self.laravel(machine, """\
            $isNew = Manager::schema()->hasTable("likes");
            $likes = fn($post) => $isNew ? Manager::table("likes")->join("users", "users.id", "user_id")
                ->where("post_id", $post->id)->pluck("email")->sort()->join(",") : "";
            foreach (User::orderBy("email")->get() as $user) {
                echo "$user->email $user->posts_count ", $user->roles->pluck("name")->join(","), "\\n";
                $count = $user->posts()->count();
                if ($user->posts_count != $count) die("$user->email has $count posts");
                foreach ($user->posts()->withTrashed()->orderBy("title")->orderBy("created_at")->get() as $post)
                    $lines[] = join(" ", [
                        $user->email, $post->title, $post->trashed() ? "trashed" : "", $post->stars ?? "",
                        $post->tags->pluck("name")->sort()->join(","),
                        $likes($post)]);
            }
            sort($lines);
            echo join("\\n", $lines), "\\n";
            """)

    def migrate(self, machine):
        self.laravel(machine, 'migrate("Second");')
