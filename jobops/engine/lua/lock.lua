-- lock: takes or keeps a named lock for its owner; with ttl 0 gives it back. Only its owner can do either.
-- ARGV: prefix, name, owner, ttl_ms
-- Answers: 1 (held, or given back), 0 (somebody else's).
-- @include args keys
arg_count(4)
local key, owner, ttl = k('lock', arg_text(2, 'name')), arg_text(3, 'owner'), arg_int(4, 'ttl_ms', 0)
local held = rcall('GET', key)
if held and held ~= owner then return 0 end
if ttl == 0 then
  rcall('DEL', key)
else
  rcall('SET', key, owner, 'PX', ttl)
end
return 1
