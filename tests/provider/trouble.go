package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"isthmus/tests/provider/raw"
)

// troubleKind is the folder of what is to go wrong: DIRECTORY/trouble/NAME.json is an object of operations (`create`, `read`, `plan`,
// `update`, `delete`, `import`) and troubles, for all objects of that name. It is no part of any configuration, so that a test can
// have the same program fail once and succeed afterwards; with `"once": true` the file goes when it has had an effect.
const troubleKind = "trouble"

// trouble is what goes wrong with one operation; the empty one is none. Each resource that has any says which it knows.
type trouble string

const (
	// troubleError fails at once, and changes nothing.
	troubleError trouble = "error"
	// troubleHalf does half of what was asked for, and fails.
	troubleHalf trouble = "half"
	// troubleWhole does all of it, and fails.
	troubleWhole trouble = "whole"
	// troubleVanish removes the object before the operation begins.
	troubleVanish trouble = "vanish"
	// troubleForget succeeds, but answers that there is no object.
	troubleForget trouble = "forget"
	// troubleWait waits until the operation is cancelled, then fails, and changes nothing.
	troubleWait trouble = "wait"
	// troubleWaitHalf waits until the operation is cancelled, then does half of what was asked for.
	troubleWaitHalf trouble = "wait-half"
	// troubleWarn only warns.
	troubleWarn trouble = "warn"
)

// troublePause, with a duration after it, waits and then goes on as if nothing had been asked for, or with the trouble that comes
// after a comma: pause-100ms,error.
const troublePause = "pause-"

// troubleExit ends the provider's process, at once or after a pause.
const troubleExit = "exit"

// troubleOf waits where that is asked for, and returns what is left to be done. `own` is what the object's configuration asks for;
// the file goes before it.
func (s *store) troubleOf(ctx context.Context, name, operation string, own map[string]string) (trouble, error) {
	asked := own[operation]
	if name != "" && s != nil && s.directory != "" {
		var file map[string]any
		found, err := s.Read(troubleKind, name, &file)
		if err != nil {
			return "", err
		}
		if text, ok := file[operation].(string); found && ok {
			asked = text
			if once, _ := file["once"].(bool); once {
				if err := s.Remove(troubleKind, name); err != nil {
					return "", err
				}
			}
		}
	}
	if pause, found := strings.CutPrefix(asked, troublePause); found {
		pause, asked, _ = strings.Cut(pause, ",")
		duration, err := time.ParseDuration(pause)
		if err != nil {
			return "", fmt.Errorf("the trouble %q of %s cannot be understood: %w", operation, name, err)
		}
		select {
		case <-time.After(duration):
		case <-ctx.Done():
		}
	}
	switch trouble(asked) {
	case troubleWait, troubleWaitHalf:
		<-ctx.Done()
	case troubleExit:
		os.Exit(1)
	}
	return trouble(asked), nil
}

// ownTroubles are those of the attribute `trouble`.
func ownTroubles(value tftypes.Value) map[string]string {
	members, _ := raw.Members(value)
	asked, _ := raw.Members(members["trouble"])
	own := map[string]string{}
	for operation, text := range asked {
		own[operation] = raw.Text(text)
	}
	return own
}
