-- pause: after this answers, nothing of the tenant (or of anyone) starts, by whatever path it comes back.
-- ARGV: prefix, slug ('' all), paused (1/0)
-- Answers: 1, or 0 when the tenant is not known.
-- Events: on resume, wake-up tokens.
-- @include args keys relief clock release
arg_count(3)
local slug, paused = ARGV[2], arg_flag(3, 'paused')
if slug == '' then
  needs_no_memory()
  rcall('HSET', CELL, 'paused', ARGV[3])
  if not paused then wake_all() end
  return 1
end
if rcall('HEXISTS', k('tenant', slug), 'weight') == 0 then return 0 end
needs_no_memory()
rcall('HSET', k('tenant', slug), 'paused', ARGV[3])
if paused then
  for _, lane in each_lane() do rcall('ZREM', k('ring', lane), slug) end
else
  ring_enter_all(slug)
end
return 1
