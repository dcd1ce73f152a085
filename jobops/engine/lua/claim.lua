-- claim: gives a slot its next job under a lease, or registers it as waiting.
-- ARGV: prefix, slot, seq, worker, token, block_ms, lane...
-- Answers: {closed}, {job, record}, {none, wait_ms} (0: ask again at once). The same seq gets the same answer.
-- Events: a wake-up token for the next idle slot while more is runnable.
-- @include args keys relief clock iso counters ring queue lease batch death outcome kept finish take claim request
-- @late bucket parked gate turns room release unpark meet pass idle
-- @late lease let_go batch death bury outcome kept fail stopped postpone give_up finish
arg_count(7, 1)
local slot, seq, worker, token = arg_text(2, 'slot'), arg_int(3, 'seq', 1), ARGV[4], arg_text(5, 'token')
local block, lanes = arg_int(6, 'block_ms', 0), {unpack(ARGV, 7)}

needs_no_memory()
local asked, s = request(slot, seq)
if asked == 'closed' then return {'closed'} end
if asked == 'same' then
  local record = same_claim(s)
  if record then return {'job', record} end
end
put_off()
local record, wait = claim(slot, worker, token, lanes, block, s[6] == '1')
write_all()
answer(slot, seq, '', record, not record and wait > 0, s)
wake_all()
if record then return {'job', record} end
return {'none', wait}
