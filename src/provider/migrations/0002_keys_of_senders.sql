-- An idempotency key is its sender's, on one channel: what another sender, or the same one elsewhere, posts with the same key
-- is another post. A sender is an agent, by its id, so that a released agent's successor under its name is another one; or a
-- name that the workspace's key gave. No row changes, and none can be in the way: the index before was narrower.

DROP INDEX messages_by_key;
CREATE UNIQUE INDEX messages_by_key
  ON messages (workspace_id, channel_id, coalesce(sender_id, 'name:' || json_extract(data, '$.from')), idempotency_key)
  WHERE idempotency_key IS NOT NULL;
