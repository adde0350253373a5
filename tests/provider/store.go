package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// store keeps each object as one indented JSON file, DIRECTORY/KIND/ID.json. The files are the provider's "cloud": a test makes
// drift by editing one, and a deletion behind the engine's back by removing one.
type store struct {
	directory string
}

// errNoDirectory is an error of use, not of configuration: in a preview the directory may still be unknown.
var errNoDirectory = errors.New("no directory: set the provider's `directory`, or the variable CONFORMANCE_DIR")

// Create picks the first free id of the shape NAME-N, so that ids are predictable and two objects of one name can live side by side
// (an engine that replaces a resource may create the new one first), and writes what `object` returns for that id.
func (s *store) Create(kind, name string, object func(id string) any) (string, error) {
	if s == nil || s.directory == "" {
		return "", errNoDirectory
	}
	if err := os.MkdirAll(filepath.Join(s.directory, kind), 0o755); err != nil {
		return "", err
	}
	for n := 1; ; n++ {
		id := fmt.Sprintf("%s-%d", name, n)
		path, err := s.path(kind, id)
		if err != nil {
			return "", err
		}
		// Claims the id: O_EXCL makes two processes agree on whose it is.
		file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		if err := file.Close(); err != nil {
			return "", err
		}
		return id, s.Write(kind, id, object(id))
	}
}

// Read reports false if there is no such object.
func (s *store) Read(kind, id string, object any) (bool, error) {
	path, err := s.path(kind, id)
	if err != nil {
		return false, err
	}
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer file.Close()
	decoder := json.NewDecoder(file)
	decoder.UseNumber() // so that a large number keeps all its digits
	if err := decoder.Decode(object); err != nil {
		return false, fmt.Errorf("%s is no object of this provider: %w", path, err)
	}
	return true, nil
}

// Write replaces the object's file as a whole, or makes one.
func (s *store) Write(kind, id string, object any) error {
	path, err := s.path(kind, id)
	if err != nil {
		return err
	}
	content, err := json.MarshalIndent(object, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	// Outside the folder of objects, so that nobody ever lists a half-written one.
	temporary, err := os.CreateTemp(s.directory, ".writing-*")
	if err != nil {
		return err
	}
	_, err = temporary.Write(append(content, '\n'))
	if err = errors.Join(err, temporary.Close()); err != nil {
		return errors.Join(err, os.Remove(temporary.Name()))
	}
	return os.Rename(temporary.Name(), path)
}

// Remove is content if the object is gone already, as good providers are.
func (s *store) Remove(kind, id string) error {
	path, err := s.path(kind, id)
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// IDs lists the objects of a kind in the order of their names.
func (s *store) IDs(kind string) ([]string, error) {
	if s == nil || s.directory == "" {
		return nil, errNoDirectory
	}
	entries, err := os.ReadDir(filepath.Join(s.directory, kind))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, entry := range entries {
		if id, found := strings.CutSuffix(entry.Name(), ".json"); found {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

func (s *store) path(kind, id string) (string, error) {
	if s == nil || s.directory == "" {
		return "", errNoDirectory
	}
	if id == "" || id != filepath.Base(id) || strings.HasPrefix(id, ".") {
		return "", fmt.Errorf("%q cannot be the id of an object: it has to be usable as a file name", id)
	}
	return filepath.Join(s.directory, kind, id+".json"), nil
}
