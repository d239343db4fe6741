// Package policyfile keeps the policies of a running program as a file says.
//
// The file is a JSON object of names and policies, in the text form that
// [weir.ParsePolicy] reads:
//
//	{
//	  "api":   "all(token-bucket 10/s burst 20, sliding-window 1000/h)",
//	  "login": "sliding-window 5/10s"
//	}
//
// [Read] reads it once and [Watch] goes on reading it:
//
//	policies, err := policyfile.Read("limits.json")
//	if err != nil {
//		log.Fatal(err)
//	}
//	logins := weir.NewPerClient[string](policies["login"])
//	...
//	err = policyfile.Watch(ctx, "limits.json", 10*time.Second, func(changed map[string]weir.Policy) error {
//		if p, ok := changed["login"]; ok {
//			return logins.SetPolicy(p)
//		}
//		return nil
//	}, policyfile.WithCurrent(policies))
//
// Without [WithCurrent], Watch applies the first version itself, and returns an
// error if there is none: then whoever starts has to wait for the first call.
//
// # What is refused
//
// A file counts as a whole or not at all. It is refused, with the line and the
// column (in characters) of what is wrong, if it is not a single JSON object in
// UTF-8 without a byte order mark, if a name is empty or given twice, if a value
// is not a string, or if one of the policies is invalid. So is what is not a
// regular file, and a file of more than 1 MiB. {} is a file of no policies: where
// some must be there, say so with an error of the function that applies them.
//
// # A file that is being written
//
// What was cut off is never a whole object, so a file that is truncated and
// written again is not read halfway. Against a file that is overwritten in place,
// a new version counts only when a second reading, a twentieth of a second after
// the first, finds the same bytes, size and time of change. Whoever overwrites in
// place and pauses for longer than that between two parts cannot be told from
// whoever has finished: write another file and rename it over this one.
package policyfile
