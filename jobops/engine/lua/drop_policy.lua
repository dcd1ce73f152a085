-- drop_policy: the tenant is gone; nothing of its starts any more.
-- ARGV: prefix, slug
-- Answers: 1 (dropped), 0 (was not known).
-- @include args keys foreign
arg_count(2)
local slug = arg_text(2, 'slug')
for _, lane in ipairs(rcall('HKEYS', k('lanes'))) do rcall('ZREM', k('ring', lane), slug) end
gcall('ZREM', k('parked'), 'tenant:' .. slug)
rcall('SET', k('gone', slug), '1', 'EX', 604800) -- its running jobs have nowhere to come back to
return rcall('DEL', k('tenant', slug))
