-- release_gate: takes the brake off.
-- ARGV: prefix, gate
-- Answers: 1, or 0 when there was none.
-- Events: wake-up tokens for who may start now.
-- @include args keys clock release
arg_count(2)
local gate = arg_text(2, 'gate')
local key = k('resource', gate)
local braked = (tonumber(gcall('HGET', key, 'brake_until') or '') or 0) > now
gcall('HDEL', key, 'brake_until', 'brake_by', 'brake_at', 'brake_error')
forget_bare(gate)
release(gate, OFFERS)
return braked and 1 or 0
