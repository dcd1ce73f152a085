-- RQ writes instants as 2026-11-29T21:22:19.123000Z. Days to date: H. Hinnant, "chrono-Compatible Low-Level Date Algorithms".
local function iso(ms)
  local seconds = math.floor(ms / 1000)
  local days = math.floor(seconds / 86400)
  local rest = seconds - days * 86400
  local z = days + 719468
  local era = math.floor(z / 146097)
  local doe = z - era * 146097
  local yoe = math.floor((doe - math.floor(doe / 1460) + math.floor(doe / 36524) - math.floor(doe / 146096)) / 365)
  local doy = doe - (365 * yoe + math.floor(yoe / 4) - math.floor(yoe / 100))
  local mp = math.floor((5 * doy + 2) / 153)
  local day = doy - math.floor((153 * mp + 2) / 5) + 1
  local month = mp < 10 and mp + 3 or mp - 9
  local year = yoe + era * 400 + (month <= 2 and 1 or 0)
  return string.format('%04d-%02d-%02dT%02d:%02d:%02d.%03d000Z', year, month, day,
    math.floor(rest / 3600), math.floor(rest / 60) % 60, rest % 60, ms % 1000)
end

local at_now -- made once a call
local function iso_now()
  at_now = at_now or iso(now)
  return at_now
end
