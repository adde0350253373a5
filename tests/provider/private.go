package main

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/hashicorp/terraform-plugin-framework/diag"
)

// privateCounter is what a record keeps in its private state. Terraform must hand private state back byte by byte; a record
// that finds it gone refuses to work, so a bridge that drops it anywhere fails loudly.
type privateCounter struct {
	Writes int64 `json:"writes"`
}

const (
	privateKey  = "counter"
	privateLost = "Private state was lost"
)

func (c privateCounter) encode() []byte {
	// A struct of one integer always encodes.
	encoded, _ := json.Marshal(c)
	return encoded
}

// privateState is what the framework's type offers to readers; the type itself is internal to the framework.
type privateState interface {
	GetKey(ctx context.Context, key string) ([]byte, diag.Diagnostics)
}

func readPrivate(ctx context.Context, private privateState) (privateCounter, error) {
	var counter privateCounter
	content, diagnostics := private.GetKey(ctx, privateKey)
	if diagnostics.HasError() {
		return counter, errors.New(diagnostics.Errors()[0].Detail())
	}
	if content == nil {
		return counter, errors.New("The record's private state did not come back with this call. It was set when the record was created or imported, and every later call has to carry what the last answer held.")
	}
	return counter, json.Unmarshal(content, &counter)
}

// privateWriter is what the framework's type offers to writers.
type privateWriter interface {
	privateState
	SetKey(ctx context.Context, key string, value []byte) diag.Diagnostics
}

// encodePrivate is for structs of texts, numbers and truth values, which always encode.
func encodePrivate(content any) []byte {
	encoded, _ := json.Marshal(content)
	return encoded
}
