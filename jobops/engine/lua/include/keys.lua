-- Names of keys, as in keys.py. ARGV[1] is the prefix of ours.
local rcall = redis.call
local P = ARGV[1]
local function k(a, b, c, d)
  if not b then return P .. ':' .. a end
  if not c then return P .. ':' .. a .. ':' .. b end
  if not d then return P .. ':' .. a .. ':' .. b .. ':' .. c end
  return P .. ':' .. a .. ':' .. b .. ':' .. c .. ':' .. d
end
local function queue_name(slug, lane) return slug .. '.' .. lane end
local CELL = k('cell')
local SCHEDULED = 'rq:scheduler:scheduled_jobs'

-- A slug can be given to another customer: a job belongs to the tenant that it was enqueued for, not to its slug.
local function same_tenant(job_uid, uid)
  return not job_uid or job_uid == '' or not uid or uid == '' or job_uid == uid
end
