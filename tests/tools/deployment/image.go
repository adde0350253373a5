package main

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
)

// file is an entry of a root file system.
type file struct {
	Name string `json:"name"`
	Mode int64  `json:"mode"`
	User int    `json:"user"`
	Size int64  `json:"size"`
	Time int64  `json:"time"`
}

// imageRead is what is in an image for a platform.
type imageRead struct {
	Platform string            `json:"platform"`
	Names    map[string]string `json:"names"`
	Digest   string            `json:"digest"`
	// Of the manifest, the configuration and the layers, as they are downloaded.
	Size   int64          `json:"size"`
	Config *v1.ConfigFile `json:"config"`
	Files  []file         `json:"files"`
}

// image verifies all images of a layout: their digests, sizes, and the digests of their unpacked layers. Each root file system is
// unpacked into a directory by the name of the image's architecture.
func image(path, directory string) (any, faults) {
	index, err := layout.ImageIndexFromPath(path)
	if err != nil {
		return nil, faults{err.Error()}
	}
	if err := validate.Index(index); err != nil {
		return nil, faults{err.Error()}
	}
	read, err := images(index, nil, directory)
	if err != nil {
		return nil, faults{err.Error()}
	}
	return read, nil
}

// images are those of an index, and of the indices in it.
func images(index v1.ImageIndex, names map[string]string, directory string) ([]imageRead, error) {
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	var all []imageRead
	for _, descriptor := range manifest.Manifests {
		own := descriptor.Annotations
		if own == nil {
			own = names
		}
		if descriptor.MediaType.IsIndex() {
			inner, err := index.ImageIndex(descriptor.Digest)
			if err != nil {
				return nil, err
			}
			read, err := images(inner, own, directory)
			if err != nil {
				return nil, err
			}
			all = append(all, read...)
			continue
		}
		opened, err := index.Image(descriptor.Digest)
		if err != nil {
			return nil, err
		}
		read, err := readImage(opened, own, directory)
		if err != nil {
			return nil, err
		}
		all = append(all, read)
	}
	return all, nil
}

func readImage(opened v1.Image, names map[string]string, directory string) (imageRead, error) {
	read := imageRead{Names: names}
	var err error
	if read.Config, err = opened.ConfigFile(); err != nil {
		return read, err
	}
	digest, err := opened.Digest()
	if err != nil {
		return read, err
	}
	manifest, err := opened.Manifest()
	if err != nil {
		return read, err
	}
	if read.Size, err = opened.Size(); err != nil {
		return read, err
	}
	read.Digest = digest.String()
	read.Size += manifest.Config.Size
	for _, layer := range manifest.Layers {
		read.Size += layer.Size
	}
	read.Platform = read.Config.Platform().String()
	unpacked := mutate.Extract(opened)
	defer unpacked.Close()
	read.Files, err = unpack(tar.NewReader(unpacked), filepath.Join(directory, read.Config.Architecture))
	return read, err
}

// unpack writes a root file system of directories and files. Owners are only read: they need root.
func unpack(archive *tar.Reader, directory string) ([]file, error) {
	if err := os.Mkdir(directory, 0o755); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(directory)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var files []file
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		name := filepath.Clean(header.Name)
		files = append(files, file{name, header.Mode, header.Uid, header.Size, header.ModTime.Unix()})
		switch header.Typeflag {
		case tar.TypeDir:
			if name != "." {
				err = root.Mkdir(name, 0o755)
			}
		case tar.TypeReg:
			err = write(root, name, archive)
		default:
			err = errors.New(header.Name + " is neither a directory nor a file")
		}
		if err == nil {
			err = root.Chmod(name, os.FileMode(header.Mode&0o777))
		}
		if err != nil {
			return nil, err
		}
	}
}

func write(root *os.Root, name string, content io.Reader) error {
	opened, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(opened, content)
	return errors.Join(err, opened.Close())
}

// stage is one of a Containerfile.
type stage struct {
	Base     string   `json:"base"`
	Name     string   `json:"name"`
	Platform string   `json:"platform"`
	Commands []string `json:"commands"`
}

func containerfile(path string) (any, faults) {
	opened, err := os.Open(path)
	if err != nil {
		return nil, faults{err.Error()}
	}
	defer opened.Close()
	parsed, err := parser.Parse(opened)
	if err != nil {
		return nil, faults{err.Error()}
	}
	var found faults
	for _, warning := range parsed.Warnings {
		found.add("%s", warning.Short)
	}
	stages, _, err := instructions.Parse(parsed.AST, nil)
	if err != nil {
		return nil, append(found, err.Error())
	}
	var read []stage
	for _, parsed := range stages {
		one := stage{parsed.BaseName, parsed.Name, parsed.Platform, nil}
		for _, command := range parsed.Commands {
			if described, ok := command.(interface{ String() string }); ok {
				one.Commands = append(one.Commands, described.String())
			}
		}
		read = append(read, one)
	}
	return read, found
}
