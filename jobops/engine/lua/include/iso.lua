-- RQ writes instants as 2026-11-29T21:22:19.123000Z. Days to date: H. Hinnant, "chrono-Compatible Low-Level Date Algorithms".
local function whole_of(n, d) return (n - n % d) / d end -- rounded down; math.floor() is a call, and dear

local function iso(ms)
  local seconds = whole_of(ms, 1000)
  local days, rest = whole_of(seconds, 86400), seconds % 86400
  local z = days + 719468
  local era, doe = whole_of(z, 146097), z % 146097
  local yoe = whole_of(doe - whole_of(doe, 1460) + whole_of(doe, 36524) - whole_of(doe, 146096), 365)
  local doy = doe - (365 * yoe + whole_of(yoe, 4) - whole_of(yoe, 100))
  local mp = whole_of(5 * doy + 2, 153)
  local day = doy - whole_of(153 * mp + 2, 5) + 1
  local month = mp < 10 and mp + 3 or mp - 9
  local year = yoe + era * 400 + (month <= 2 and 1 or 0)
  return string.format('%04d-%02d-%02dT%02d:%02d:%02d.%03d000Z', year, month, day, whole_of(rest, 3600),
    whole_of(rest, 60) % 60, rest % 60, ms % 1000)
end

local at_now -- made once a call
local function iso_now()
  at_now = at_now or iso(now)
  return at_now
end
