-- pause_gate: after this answers, nothing starts that has to pass the gate, whatever its limits; or it may again.
-- ARGV: prefix, gate, paused (1/0)
-- Answers: 1, or 0 when it was so already.
-- Events: on resume, wake-up tokens for who may start now.
-- @include args keys relief clock release
arg_count(3)
local gate, paused = arg_text(2, 'gate'), arg_flag(3, 'paused')
local key = k('resource', gate)
needs_no_memory()
if paused then note_gate(gate) end
if (gcall('HGET', key, 'paused') == '1') == paused then return 0 end
if paused then
  gcall('HSET', key, 'paused', '1')
else
  gcall('HDEL', key, 'paused')
  forget_bare(gate)
end
release(gate, OFFERS)
return 1
