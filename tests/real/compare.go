package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// A comparison knows which of the values that one side has made up are which of the other's.
type comparison struct {
	times, generated *regexp.Regexp
	theirs, ours     map[string]string
	counters         []string
}

type note func(format string, arguments ...any)

func newComparison(journey *Journey) *comparison {
	patterns := append([]string{
		`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`, `\b[0-9a-f]{64}\b`, `\b[0-9a-f]{40}\b`, `\b[0-9a-f]{32}\b`,
	}, journey.Generated...)
	return &comparison{
		times:     regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:?\d\d)?`),
		generated: regexp.MustCompile(strings.Join(patterns, "|")),
		theirs:    map[string]string{}, ours: map[string]string{}, counters: journey.Counters,
	}
}

// plans compares what each side wanted to do with each resource, and returns for how many.
func (c *comparison) plans(plans []map[string]string, step step, note note) int {
	if step.instead != nil {
		return 0
	}
	names := map[string]bool{}
	for _, plan := range plans {
		for name := range plan {
			names[name] = true
		}
	}
	is := false
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if plans[0][name] != plans[1][name] {
			note("%s: OpenTofu plans %q, isthmus %q", name, plans[0][name], plans[1][name])
		}
		is = is || plans[0][name] == step.expect
		if step.expect == "same" && plans[0][name] != "same" {
			note("%s: OpenTofu plans %q where nothing has changed", name, plans[0][name])
		}
	}
	if step.expect != "" && !is {
		note("nothing has the plan %q", step.expect)
	}
	return len(names)
}

// summary counts a plan.
func summary(plan map[string]string) string {
	counts := map[string]int{}
	for _, does := range plan {
		counts[does]++
	}
	var parts []string
	for _, does := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%d %s", counts[does], does))
	}
	return strings.Join(parts, ", ")
}

// states compares the resources, attribute by attribute, and returns how many values it has compared.
func (c *comparison) states(sides []*side, states [][]resource, note note) int {
	byName := func(all []resource) map[string]resource {
		named := map[string]resource{}
		for _, resource := range all {
			named[resource.kind+"."+resource.name] = resource
		}
		return named
	}
	theirs, ours := byName(states[0]), byName(states[1])
	count := 0
	// Ids first: attributes refer to them.
	for _, name := range slices.Sorted(maps.Keys(theirs)) {
		count += c.values(name+": its id", sides[0].common(theirs[name].id), sides[1].common(ours[name].id), note)
	}
	for name := range ours {
		if _, found := theirs[name]; !found {
			note("%s: only isthmus has it", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(theirs)) {
		their, our := theirs[name], ours[name]
		for _, strange := range slices.Concat(their.strange, our.strange) {
			note("%s: %s", name, strange)
		}
		count += c.values(name, sides[0].common(their.attributes), sides[1].common(our.attributes), note)
		for _, path := range slices.Sorted(maps.Keys(their.secret)) {
			if !covers(our.secret, path) {
				note("%s.%s: OpenTofu has it as sensitive, isthmus not as a secret", name, path)
			}
		}
		for _, path := range slices.Sorted(maps.Keys(our.secret)) {
			if !covers(their.secret, path) && !slices.ContainsFunc(slices.Collect(maps.Keys(their.secret)), func(their string) bool { return strings.HasPrefix(their, path) }) {
				note("%s.%s: isthmus has it as a secret, OpenTofu not as sensitive", name, path)
			}
		}
	}
	return count
}

// covers says whether a path or one above it is marked.
func covers(marked map[string]bool, path string) bool {
	for above := range marked {
		if path == above || strings.HasPrefix(path, above+".") || strings.HasPrefix(path, above+"[") {
			return true
		}
	}
	return false
}

// values compares two values, and returns how many scalars it has compared.
func (c *comparison) values(path string, their, our any, note note) int {
	switch their := their.(type) {
	case map[string]any:
		our, ok := our.(map[string]any)
		if !ok {
			break
		}
		count := 0
		for name := range our {
			if _, found := their[name]; !found {
				note("%s: OpenTofu has nothing, isthmus %s", join(path, name), shown(our[name]))
			}
		}
		for _, name := range slices.Sorted(maps.Keys(their)) {
			if _, found := our[name]; !found {
				note("%s: OpenTofu has %s, isthmus nothing", join(path, name), shown(their[name]))
				continue
			}
			if slices.Contains(c.counters, name) {
				count++
				continue
			}
			count += c.values(join(path, name), their[name], our[name], note)
		}
		return count
	case set:
		our, ok := our.(set)
		if !ok {
			break
		}
		return c.values(path, c.sorted(their, true), c.sorted(our, false), note)
	case []any:
		our, ok := our.([]any)
		if !ok || len(our) != len(their) {
			break
		}
		count := 0
		for index := range their {
			count += c.values(fmt.Sprintf("%s[%d]", path, index), their[index], our[index], note)
		}
		return count
	case string:
		if our, ok := our.(string); ok && c.same(their, our) {
			return 1
		}
	default:
		if their == our {
			return 1
		}
	}
	note("%s: OpenTofu has %s, isthmus %s", path, shown(their), shown(our))
	return 1
}

// same says whether two texts are the same but for what was made up, which has to correspond everywhere.
func (c *comparison) same(their, our string) bool {
	their, our = c.times.ReplaceAllString(their, "TIME"), c.times.ReplaceAllString(our, "TIME")
	if their == our {
		return true
	}
	if c.generated.ReplaceAllString(their, "?") != c.generated.ReplaceAllString(our, "?") {
		return false
	}
	left, right := c.generated.FindAllString(their, -1), c.generated.FindAllString(our, -1)
	for index, value := range left {
		known, found := c.theirs[value]
		back, has := c.ours[right[index]]
		if (found && known != right[index]) || (has && back != value) {
			return false
		}
		c.theirs[value], c.ours[right[index]] = right[index], value
	}
	return true
}

// sorted gives the elements of a set an order that both sides have.
func (c *comparison) sorted(elements set, theirs bool) []any {
	key := func(element any) string {
		text, _ := json.Marshal(element)
		plain := c.generated.ReplaceAllString(string(text), "?")
		return plain + c.generated.ReplaceAllStringFunc(string(text), func(value string) string {
			if theirs {
				return c.theirs[value]
			}
			if _, found := c.ours[value]; found {
				return value
			}
			return ""
		})
	}
	all := slices.Clone([]any(elements))
	slices.SortFunc(all, func(a, b any) int { return strings.Compare(key(a), key(b)) })
	return all
}

// common is a value without what differs because there are two sides: ports and directories.
func (side *side) common(value any) any {
	switch value := value.(type) {
	case string:
		return side.own.Replace(value)
	case map[string]any:
		made := map[string]any{}
		for name, inner := range value {
			made[side.own.Replace(name)] = side.common(inner)
		}
		return made
	case set:
		return set(side.common([]any(value)).([]any))
	case []any:
		made := make([]any, len(value))
		for index, inner := range value {
			made[index] = side.common(inner)
		}
		return made
	}
	return value
}

func shown(value any) string {
	text, _ := json.Marshal(value)
	return string(text)
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
