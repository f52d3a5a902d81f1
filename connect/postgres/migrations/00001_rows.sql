-- +goose Up
CREATE TABLE parley_rows (
	kind    text COLLATE "C" NOT NULL,
	id      text COLLATE "C" NOT NULL,
	owner   text COLLATE "C" NOT NULL,
	key     text COLLATE "C" NOT NULL,
	status  text COLLATE "C" NOT NULL,
	version bigint      NOT NULL,
	created timestamptz NOT NULL,
	updated timestamptz NOT NULL,
	expires timestamptz NOT NULL, -- 'infinity': never
	data    bytea       NOT NULL,
	PRIMARY KEY (kind, id)
);

CREATE UNIQUE INDEX parley_rows_key ON parley_rows (kind, key) WHERE key <> '';
CREATE INDEX parley_rows_newest ON parley_rows (created DESC, id DESC, kind DESC);
CREATE INDEX parley_rows_owner ON parley_rows (owner, kind, created DESC) WHERE owner <> '';
CREATE INDEX parley_rows_status ON parley_rows (kind, status, created DESC);
CREATE INDEX parley_rows_expires ON parley_rows (expires);

-- +goose StatementBegin
CREATE FUNCTION parley_rows_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	-- A payload has at most 8000 bytes. What does not fit is told as "something may have been missed".
	PERFORM pg_notify('parley_rows', CASE
		WHEN octet_length(NEW.kind) + octet_length(NEW.id) < 7900 THEN char_length(NEW.kind) || ':' || NEW.kind || NEW.id ELSE '' END);
	RETURN NULL;
END $$;
-- +goose StatementEnd

CREATE TRIGGER parley_rows_changed AFTER INSERT OR UPDATE ON parley_rows FOR EACH ROW EXECUTE FUNCTION parley_rows_changed();

-- +goose Down
DROP TABLE parley_rows;
DROP FUNCTION parley_rows_changed();
