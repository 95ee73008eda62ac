-- What an import has asked Apple, and how it was answered, for the report on the import.
SELECT set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- When `pipeline import` asked first; null for questions of others.
ALTER TABLE recovery_requests ADD COLUMN imported_at timestamptz;

COMMENT ON TABLE recovery_requests IS
    'What recovery-worker asks Apple about single purchases and orders. Written by it, by '
    '`pipeline recover apple`, `pipeline import` and a trigger of transactions; removed some days after '
    'the answer, those of an import after half a year.';
