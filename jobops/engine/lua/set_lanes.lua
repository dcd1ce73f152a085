-- set_lanes: the lanes and their shares. A lane left out stays known, as processes of another release may still use it:
-- what waits in it runs where it is served.
-- ARGV: prefix, then pairs: lane, share
-- Answers: how many lanes are known.
-- @include args keys
arg_count(3, 2)
for i = 2, #ARGV, 2 do
  arg_text(i, 'lane')
  arg_positive(i + 1, 'share')
end
for i = 2, #ARGV, 2 do
  rcall('HSET', k('lanes'), ARGV[i], ARGV[i + 1])
  rcall('HSET', CELL, 'share:' .. ARGV[i], ARGV[i + 1])
end
-- A text of more than 64 bytes lets Redis keep the hash as a table, in which it finds a field without a search.
rcall('HSET', CELL, 'lanes', table.concat(rcall('HKEYS', k('lanes')), '\n'), 'about',
  'what all tenants share: pauses, the lanes and their virtual times, how long job types take')
return rcall('HLEN', k('lanes'))
