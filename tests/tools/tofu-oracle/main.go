// Command tofu-oracle answers what OpenTofu makes of a text, so that the fuzzer compares isthmus with it.
//
// It reads a JSON object in each line, and answers with one:
//
//	{"constraint": TEXT, "versions": [TEXT, …]}   → {"text": canonical form, "allowed": [for each version]}
//	{"lock": BASE64}                              → {"bytes": the file as OpenTofu writes it again}
//	{"address": TEXT}                             → {"text": the full address}
//	{"type": JSON, "msgpack": BASE64}             → {"bytes": the value as go-cty encodes it again}
//	{"type": JSON, "json": BASE64}                → the same, as JSON
//
// or {"error": …} for what OpenTofu refuses, and {"panic": …} where it panics.
//
// The module has a path below OpenTofu's, because the packages that decide this are internal there.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"github.com/apparentlymart/go-versions/versions"
	"github.com/opentofu/opentofu/internal/addrs"
	"github.com/opentofu/opentofu/internal/depsfile"
	"github.com/opentofu/opentofu/internal/getproviders"
	ctyjson "github.com/zclconf/go-cty/cty/json"
	ctymsgpack "github.com/zclconf/go-cty/cty/msgpack"
)

type question struct {
	Constraint *string         `json:"constraint"`
	Versions   []string        `json:"versions"`
	Lock       []byte          `json:"lock"`
	Address    *string         `json:"address"`
	Type       json.RawMessage `json:"type"`
	Msgpack    []byte          `json:"msgpack"`
	JSON       []byte          `json:"json"`
}

type answer struct {
	Text    string `json:"text,omitempty"`
	Allowed []bool `json:"allowed,omitempty"`
	Bytes   []byte `json:"bytes,omitempty"`
	Error   string `json:"error,omitempty"`
	Panic   string `json:"panic,omitempty"`
}

func main() {
	lines := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := json.NewEncoder(os.Stdout)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var asked question
		if err := json.Unmarshal(line, &asked); err != nil {
			fmt.Fprintln(os.Stderr, "tofu-oracle:", err)
			os.Exit(1)
		}
		if err := out.Encode(answered(asked)); err != nil {
			return
		}
	}
}

func answered(asked question) (given answer) {
	defer func() {
		if reason := recover(); reason != nil {
			given = answer{Panic: fmt.Sprint(reason)}
		}
	}()
	var err error
	switch {
	case asked.Constraint != nil:
		given, err = constraint(*asked.Constraint, asked.Versions)
	case asked.Address != nil:
		given, err = address(*asked.Address)
	case asked.Type != nil:
		given, err = value(asked)
	default:
		given, err = lock(asked.Lock)
	}
	if err != nil {
		return answer{Error: err.Error()}
	}
	return given
}

func constraint(text string, candidates []string) (answer, error) {
	parsed, err := getproviders.ParseVersionConstraints(text)
	if err != nil {
		return answer{}, err
	}
	set := versions.MeetingConstraints(parsed)
	given := answer{Text: getproviders.VersionConstraintsString(parsed)}
	for _, candidate := range candidates {
		version, err := getproviders.ParseVersion(candidate)
		if err != nil {
			return answer{}, fmt.Errorf("a candidate: %w", err)
		}
		given.Allowed = append(given.Allowed, set.Has(version))
	}
	return given, nil
}

func lock(file []byte) (answer, error) {
	locks, faults := depsfile.LoadLocksFromBytes(file, "lock")
	if faults.HasErrors() {
		return answer{}, faults.Err()
	}
	written, faults := depsfile.SaveLocksToBytes(locks)
	return answer{Bytes: written}, faults.Err()
}

func address(text string) (answer, error) {
	parsed, faults := addrs.ParseProviderSourceString(text)
	if faults.HasErrors() {
		return answer{}, faults.Err()
	}
	return answer{Text: parsed.String()}, nil
}

func value(asked question) (answer, error) {
	own, err := ctyjson.UnmarshalType(asked.Type)
	if err != nil {
		return answer{}, err
	}
	if asked.Msgpack != nil {
		decoded, err := ctymsgpack.Unmarshal(asked.Msgpack, own)
		if err != nil {
			return answer{}, err
		}
		written, err := ctymsgpack.Marshal(decoded, own)
		return answer{Bytes: written}, err
	}
	decoded, err := ctyjson.Unmarshal(asked.JSON, own)
	if err != nil {
		return answer{}, err
	}
	written, err := ctyjson.Marshal(decoded, own)
	return answer{Bytes: written}, err
}
