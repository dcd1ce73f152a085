-- stop: marks a running job's lease, and tells the supervisor of its slot, which kills it. Whoever ends the lease obeys
-- the mark; a job that succeeds before that has succeeded.
-- ARGV: prefix, id, tenant ('' any), mode (end|retry), note
-- Answers: stopping, not_found (also: another tenant's), not_running; to retry also: last_attempt (none is left),
--          tenant_gone (it was deleted: its jobs run no more). Then nothing is marked.
-- Events: an entry in the stops of the slot's supervisor, which looks there every half second.
-- @include args keys relief clock ring lease bury
arg_count(5)
local id, mode = arg_text(2, 'id'), ARGV[4]
if mode ~= 'end' and mode ~= 'retry' then arg_refuse(4, 'mode', 'end or retry') end
local f = rcall('HMGET', 'rq:job:' .. id, 'status', 'jo_tenant', 'jo_max_attempts', 'jo_tenant_uid')
local lease = read_lease(id)
local slug = f[2] or (lease and lease.tenant)
if not slug or (ARGV[3] ~= '' and slug ~= ARGV[3]) then return 'not_found' end
if not lease or (f[1] and f[1] ~= 'started') or not rcall('ZSCORE', k('leases'), id) then return 'not_running' end
if mode == 'retry' then -- as obey() decides when the lease ends
  if lease.attempt >= whole(f[3], 1) then return 'last_attempt' end
  if is_orphan(lease, f[4]) then return 'tenant_gone' end
end
needs_no_memory()
rcall('HSET', k('lease', id), 'stop', mode, 'stop_note', ARGV[5])
-- <supervisor>-<place>.<generation>; whoever calls its slots otherwise learns of it when the lease ends.
local supervisor = string.match(lease.slot or '', '^(.+)%-%d+%.%d+$')
if supervisor then
  rcall('HSET', k('stops', supervisor), id, lease.token)
  rcall('EXPIRE', k('stops', supervisor), 86400)
end
return 'stopping'
