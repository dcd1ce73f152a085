-- batch_state: how a batch stands. Changes nothing.
-- ARGV: prefix, batch
-- Answers: {changed_us ('' nothing is to be told), left, dead, dropped, ended as flat pairs (how, count)}
-- @include args keys
arg_count(2)
local batch = arg_text(2, 'batch')
local function size(what) return rcall('SCARD', k('batch', batch, what)) end
return {rcall('ZSCORE', k('batches'), batch) or '', size('left'), size('dead'), size('dropped'),
  rcall('HGETALL', k('batch', batch, 'ended'))}
