-- gates: gates as they are now. Changes nothing.
-- ARGV: prefix, gate... (none: every gate that there is)
-- Answers: for each {gate, known (1/0), concurrency, rate_count, rate_per_ms, in flight, waiting, tokens ('' no rate),
--          brake_until_ms (0: none), brake_by, paused (1/0), what the job said that put the brake on}
-- @include args keys clock gate
arg_count(1, 1)
local names = {unpack(ARGV, 2)}
if not names[1] then
  names = peek({}, 'SMEMBERS', k('gates'))
  table.sort(names)
end
local answers = {}
for _, gate in ipairs(names) do
  local g = peek({}, 'HMGET', k('resource', gate), 'known', 'concurrency', 'rate', 'rate_per', 'tokens', 'tokens_at',
    'brake_until', 'brake_by', 'paused', 'brake_at', 'brake_error')
  -- No job looks for the gate of its type that is not listed: whoever compares limits has to see that.
  if is_type_gate(gate) and peek(0, 'SISMEMBER', k('gates'), gate) == 0 then g = {} end
  local tokens, brake = tokens_now(g[3], g[4], g[5], g[6]), brake_now(g[7], g[10])
  answers[#answers + 1] = {gate, g[1] == '1' and 1 or 0, g[2] or '', g[3] or '', g[4] or '',
    peek(0, 'ZCARD', k('inflight', 'resource', gate)), peek(0, 'ZCARD', k('waiting', gate)),
    tokens and string.format('%.17g', tokens) or '', brake > now and string.format('%.0f', brake) or '0',
    brake > now and g[8] or '', g[9] == '1' and 1 or 0, brake > now and g[11] or ''}
end
return answers
