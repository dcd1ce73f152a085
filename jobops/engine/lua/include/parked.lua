-- Parked is what only time opens: "tenant:<slug>" and "resource:<gate>" → that instant (ms). The cell keeps the first
-- of these, so that nobody reads here before there is something.
-- @include cell bucket foreign

local function next_parked() return tonumber(cell('parked') or '') end

local function note_parked(at) cell_set('parked', at and string.format('%d', at) or '') end

local function park(member, at)
  gcall('ZADD', k('parked'), at, member)
  local first = next_parked()
  if not first or at < first then note_parked(at) end
end

-- Has the tenant a token, as its fields tell its rate? If not, it is parked until it has one.
local function has_token(slug, t)
  local b = rcall('HMGET', k('tenant', slug), 'rate_per', 'tokens', 'tokens_at')
  local tokens, count, per = tokens_of(k('tenant', slug), t[7], b[1], b[2], b[3])
  t.tokens, t.count, t.per = tokens, count, per
  if not tokens or tokens >= ENOUGH then return true end
  park('tenant:' .. slug, token_due(tokens, count, per))
  return false
end

-- The tenant pays a token for this start. Answers whether it has one for another; if not, and more of it waits in this
-- queue, it is parked until then (elsewhere, when it is met there).
local function pay_token(slug, queue, t)
  local left = t.tokens - 1
  keep_tokens(k('tenant', slug), left)
  if left >= ENOUGH then return true end
  if rcall('EXISTS', 'rq:queue:' .. queue) == 1 then park('tenant:' .. slug, token_due(left, t.count, t.per)) end
  return false
end

local function note_first_parked()
  local head = gcall('ZRANGE', k('parked'), 0, 0, 'WITHSCORES')
  note_parked(head[2] and tonumber(head[2]))
end

-- After the clock was set back: whatever waits for an instant of the old clock is looked at, and parked anew.
local function park_anew()
  for _, member in ipairs(gcall('ZRANGEBYSCORE', k('parked'), '(' .. string.format('%.0f', now), '+inf')) do
    gcall('ZADD', k('parked'), now, member)
  end
  note_first_parked()
end
