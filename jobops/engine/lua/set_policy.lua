-- set_policy: what the engine knows of a tenant. An older version never overwrites a newer one.
-- ARGV: prefix, slug, version, weight, cap ('' none), depth_limit ('' none), paused (1/0), intake_closed (1/0),
--       then pairs: lane, cap
-- Answers: 1 (in force), 0 (a newer version is).
-- Events: wake-up tokens when more may run.
-- @include args keys clock ring
arg_count(8, 2)
local slug, version = arg_text(2, 'slug'), arg_int(3, 'version', 0)
arg_positive(4, 'weight')
if ARGV[5] ~= '' then arg_int(5, 'cap', 0) end
if ARGV[6] ~= '' then arg_int(6, 'depth_limit', 0) end
arg_flag(7, 'paused')
arg_flag(8, 'intake_closed')
for i = 9, #ARGV, 2 do arg_int(i + 1, 'cap of ' .. arg_text(i, 'lane'), 0) end
local key = k('tenant', slug)
if tonumber(rcall('HGET', key, 'version') or 0) > version then return 0 end
for _, field in ipairs(rcall('HKEYS', key)) do
  if string.sub(field, 1, 4) == 'cap:' then rcall('HDEL', key, field) end
end
rcall('HSET', key, 'version', ARGV[3], 'weight', ARGV[4], 'cap', ARGV[5], 'depth_limit', ARGV[6], 'paused', ARGV[7],
  'intake_closed', ARGV[8])
for i = 9, #ARGV, 2 do rcall('HSET', key, 'cap:' .. ARGV[i], ARGV[i + 1]) end
for _, lane in each_lane() do
  if not may_run(slug, lane) then rcall('ZREM', k('ring', lane), slug) end
end
ring_enter_all(slug)
return 1
