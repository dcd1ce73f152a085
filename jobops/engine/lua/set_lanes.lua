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
  rcall('HSET', k('lane', ARGV[i]), 'share', ARGV[i + 1])
end
return rcall('HLEN', k('lanes'))
