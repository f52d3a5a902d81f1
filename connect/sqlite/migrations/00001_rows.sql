-- +goose Up
CREATE TABLE parley_rows (
	kind    TEXT    NOT NULL,
	id      TEXT    NOT NULL,
	owner   TEXT    NOT NULL,
	key     TEXT    NOT NULL,
	status  TEXT    NOT NULL,
	version INTEGER NOT NULL,
	created INTEGER NOT NULL, -- microseconds since 1970
	updated INTEGER NOT NULL,
	expires INTEGER NOT NULL, -- the same; the greatest number: never
	origin  INTEGER NOT NULL, -- the opened store that wrote last
	data    BLOB    NOT NULL,
	PRIMARY KEY (kind, id)
) STRICT;

CREATE UNIQUE INDEX parley_rows_key ON parley_rows (kind, key) WHERE key <> '';
CREATE INDEX parley_rows_newest ON parley_rows (created DESC, id DESC, kind DESC);
CREATE INDEX parley_rows_owner ON parley_rows (owner, kind, created DESC) WHERE owner <> '';
CREATE INDEX parley_rows_status ON parley_rows (kind, status, created DESC);
CREATE INDEX parley_rows_expires ON parley_rows (expires);

-- The last changes, for other processes. An opened store that is further behind than this looks at everything.
CREATE TABLE parley_changes (
	seq    INTEGER PRIMARY KEY AUTOINCREMENT,
	kind   TEXT    NOT NULL,
	id     TEXT    NOT NULL,
	origin INTEGER NOT NULL
) STRICT;

-- +goose StatementBegin
CREATE TRIGGER parley_rows_inserted AFTER INSERT ON parley_rows BEGIN
	INSERT INTO parley_changes (kind, id, origin) VALUES (NEW.kind, NEW.id, NEW.origin);
	DELETE FROM parley_changes WHERE seq <= last_insert_rowid() - 4096;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER parley_rows_updated AFTER UPDATE ON parley_rows BEGIN
	INSERT INTO parley_changes (kind, id, origin) VALUES (NEW.kind, NEW.id, NEW.origin);
	DELETE FROM parley_changes WHERE seq <= last_insert_rowid() - 4096;
END;
-- +goose StatementEnd

-- +goose Down
DROP TABLE parley_changes;
DROP TABLE parley_rows;
