-- batch_ack: how the batch stood at that change is committed in the database. A later change stays to be told.
-- ARGV: prefix, batch, changed_us
-- Answers: 1, or 0 when it has changed since.
-- @include args keys
arg_count(3)
local batch, changed = arg_text(2, 'batch'), arg_int(3, 'changed_us', 0)
if tonumber(rcall('ZSCORE', k('batches'), batch) or -1) ~= changed then return 0 end
return rcall('ZREM', k('batches'), batch)
