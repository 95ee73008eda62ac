-- Kinds of links besides tokens, which most companies do not use: link-worker asks for each batch which
-- of them have a row, and only about these for each purchase.
CREATE INDEX IF NOT EXISTS account_links_besides_tokens ON account_links (kind)
    WHERE kind <> 'account_token';
