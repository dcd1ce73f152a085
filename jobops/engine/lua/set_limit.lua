-- set_limit: a gate's limits, and that they are known. A pause or a brake stays. What runs goes on and counts.
-- ARGV: prefix, gate, concurrency ('' any), rate_count ('' any), rate_per_ms
-- Answers: 1.
-- Events: wake-up tokens for who may start now.
-- @include args keys clock release
arg_count(5)
local gate = arg_text(2, 'gate')
if ARGV[3] ~= '' then arg_int(3, 'concurrency', 0) end
if ARGV[4] ~= '' then
  arg_int(4, 'rate_count', 1)
  arg_int(5, 'rate_per_ms', 1)
end
note_gate(gate)
local key = k('resource', gate)
set_rate(key, ARGV[4], ARGV[4] ~= '' and ARGV[5] or '')
gcall('HSET', key, 'known', '1', 'concurrency', ARGV[3])
release(gate, OFFERS)
return 1
