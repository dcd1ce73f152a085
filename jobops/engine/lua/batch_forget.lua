-- batch_forget: the batch is over, and how it ended is in the database.
-- ARGV: prefix, batch
-- Answers: how many of its keys there were.
-- @include args keys
arg_count(2)
local batch, gone = arg_text(2, 'batch'), 0
for _, what in ipairs({'left', 'dead', 'dropped', 'withdrawn', 'ended'}) do
  gone = gone + rcall('UNLINK', k('batch', batch, what))
end
return gone + rcall('ZREM', k('batches'), batch)
