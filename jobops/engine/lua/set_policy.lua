-- set_policy: what the engine knows of a tenant. An older version never overwrites a newer one.
-- ARGV: prefix, slug, uid (its lasting identity, '' none), version, weight, cap ('' none), depth_limit ('' none),
--       paused (1/0), intake_closed (1/0), rate_count ('' none: any), rate_per_ms, then pairs: lane, cap
-- Answers: 1 (in force), 0 (a newer version is).
-- Events: wake-up tokens when more may run.
-- @include args keys clock release
arg_count(11, 2)
local slug, version = arg_text(2, 'slug'), arg_int(4, 'version', 0)
arg_positive(5, 'weight')
if ARGV[6] ~= '' then arg_int(6, 'cap', 0) end
if ARGV[7] ~= '' then arg_int(7, 'depth_limit', 0) end
arg_flag(8, 'paused')
arg_flag(9, 'intake_closed')
if ARGV[10] ~= '' then
  arg_int(10, 'rate_count', 1)
  arg_int(11, 'rate_per_ms', 1)
end
for i = 12, #ARGV, 2 do arg_int(i + 1, 'cap of ' .. arg_text(i, 'lane'), 0) end
local key = k('tenant', slug)
if tonumber(rcall('HGET', key, 'version') or 0) > version then return 0 end
for _, field in ipairs(rcall('HKEYS', key)) do
  if string.sub(field, 1, 4) == 'cap:' then rcall('HDEL', key, field) end
end
set_rate(key, ARGV[10], ARGV[11])
rcall('HSET', key, 'uid', ARGV[3], 'version', ARGV[4], 'weight', ARGV[5], 'cap', ARGV[6], 'depth_limit', ARGV[7],
  'paused', ARGV[8], 'intake_closed', ARGV[9])
gcall('ZREM', k('parked'), 'tenant:' .. slug) -- until when, may_run() tells by the rate that is in force now
rcall('DEL', k('gone', slug))
for i = 12, #ARGV, 2 do rcall('HSET', key, 'cap:' .. ARGV[i], ARGV[i + 1]) end
for _, lane in each_lane() do
  if not may_run(slug, lane) then rcall('ZREM', k('ring', lane), slug) end
  if rcall('EXISTS', k('held', queue_name(slug, lane))) == 1 then rcall('HSET', key, 'held', '1') end
end
ring_enter_all(slug)
return 1
