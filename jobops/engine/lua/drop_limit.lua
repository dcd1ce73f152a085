-- drop_limit: nobody knows limits of this gate any more: none of its job type, or for a resource that its jobs wait. A
-- pause or a brake stays.
-- ARGV: prefix, gate
-- Answers: 1, or 0 when none were known.
-- Events: wake-up tokens for who may start now.
-- @include args keys clock release
arg_count(2)
local gate = arg_text(2, 'gate')
local known = gcall('HDEL', k('resource', gate), 'known')
gcall('HDEL', k('resource', gate), 'concurrency', 'rate', 'rate_per', 'tokens', 'tokens_at')
forget_bare(gate)
release(gate, OFFERS)
return known
