package accesslog

import (
	"strconv"
	"strings"
	"time"
	"unsafe"
)

// Instants are nanoseconds since 1970. A line before that, or after lastYear, has
// a wrong clock or is not a log's.
const lastYear = 2200

// commonTimeLen is the length of "17/May/2015:10:05:03 +0000".
const commonTimeLen = 26

// parseCommonTime reads the time of the Common Log Format.
func parseCommonTime(t []byte) (ns int64, ok bool) {
	if len(t) != commonTimeLen || t[2] != '/' || t[6] != '/' || t[11] != ':' || t[14] != ':' || t[17] != ':' || t[20] != ' ' {
		return 0, false
	}
	month := monthOf(t[3], t[4], t[5])
	day, ok1 := digits2(t[0], t[1])
	century, ok2 := digits2(t[7], t[8])
	year, ok3 := digits2(t[9], t[10])
	hour, ok4 := digits2(t[12], t[13])
	minute, ok5 := digits2(t[15], t[16])
	second, ok6 := digits2(t[18], t[19])
	zoneHour, ok7 := digits2(t[22], t[23])
	zoneMinute, ok8 := digits2(t[24], t[25])
	year += 100 * century
	sign := int64(1)
	switch t[21] {
	case '+':
	case '-':
		sign = -1
	default:
		return 0, false
	}
	if !(ok1 && ok2 && ok3 && ok4 && ok5 && ok6 && ok7 && ok8) || month == 0 || year < 1970 || year > lastYear ||
		day < 1 || day > daysIn(year, month) || hour > 23 || minute > 59 || second > 59 || zoneHour > 24 || zoneMinute > 59 {
		return 0, false
	}
	seconds := daysSince1970(year, month, day)*86400 + hour*3600 + minute*60 + second
	return (seconds - sign*(zoneHour*3600+zoneMinute*60)) * int64(time.Second), true
}

func digits2(a, b byte) (int64, bool) {
	x, y := a-'0', b-'0'
	return int64(x)*10 + int64(y), x < 10 && y < 10
}

// monthOf returns 1 for Jan and so on, 0 for what is no month.
func monthOf(a, b, c byte) int64 {
	const names = "JanFebMarAprMayJunJulAugSepOctNovDec"
	for i := 0; i < len(names); i += 3 {
		if names[i] == a && names[i+1] == b && names[i+2] == c {
			return int64(i/3 + 1)
		}
	}
	return 0
}

func daysIn(year, month int64) int64 {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}

// daysSince1970 counts years from March, so that the leap day is the last of one:
// 153 days are in five months from there, whichever those are.
func daysSince1970(year, month, day int64) int64 {
	if month <= 2 {
		year, month = year-1, month+12
	}
	return 365*year + year/4 - year/100 + year/400 + (153*(month-3)+2)/5 + day - 1 - 719468
}

// parseTime reads a time as JSON and CSV have it: RFC 3339, with a space for the T
// too, and in UTC where it names no zone; the Common Log Format's; or a number of
// seconds, milliseconds, microseconds or nanoseconds since 1970, whichever of them
// is in this century.
func parseTime(text []byte) (ns int64, ok bool) {
	if ns, ok := parseCommonTime(text); ok {
		return ns, true
	}
	if len(text) == 0 || len(text) > len("2006-01-02T15:04:05.999999999-07:00") {
		return 0, false
	}
	s := unsafe.String(&text[0], len(text)) // time and strconv are not asked for errors, which would keep it
	if len(s) > 4 && s[4] == '-' {
		return parseDate(s)
	}
	return parseNumber(s)
}

func parseDate(s string) (ns int64, ok bool) {
	for _, layout := range [...]string{time.RFC3339, "2006-01-02 15:04:05Z07:00", "2006-01-02T15:04:05Z0700", "2006-01-02T15:04:05", time.DateTime} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UnixNano(), t.Year() >= 1970 && t.Year() <= lastYear
		}
	}
	return 0, false
}

// parseNumber keeps what a float64 could not: nanoseconds have 19 digits.
func parseNumber(s string) (ns int64, ok bool) {
	whole, fraction, _ := strings.Cut(s, ".")
	if len(whole) < 9 || len(whole) > 19 || strings.Trim(whole, "0123456789") != "" || strings.Trim(fraction, "0123456789") != "" {
		return 0, false
	}
	unit := time.Second
	for digits := len(whole); digits > 10 && unit > 1; digits -= 3 {
		unit /= 1000
	}
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || n > (lastYear-1970)*366*86400*int64(time.Second/unit) {
		return 0, false
	}
	ns = n * int64(unit)
	for scale := int64(unit); len(fraction) > 0 && scale >= 10; fraction = fraction[1:] {
		scale /= 10
		ns += int64(fraction[0]-'0') * scale
	}
	return ns, true
}
