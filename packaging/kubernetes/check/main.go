// check reads Kubernetes manifests as the API server's own types do, and refuses what these do not
// know: a field that is misspelled, of another type, or in the wrong place. The ptunnel.toml in
// each ConfigMap is given to ptunnel --check-config.
//
//	go run . PTUNNEL MANIFEST...
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	yamldecoder "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

func main() {
	failed := false
	for _, manifest := range os.Args[2:] {
		if err := check(os.Args[1], manifest); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", manifest, err)
			failed = true
		}
	}
	if failed {
		os.Exit(1)
	}
}

// check reads each document of a manifest.
func check(ptunnel, manifest string) error {
	file, err := os.Open(manifest)
	if err != nil {
		return err
	}
	defer file.Close()
	documents := yamldecoder.NewDocumentDecoder(file)
	buffer := make([]byte, 1<<20)
	for {
		n, err := documents.Read(buffer)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := checkDocument(ptunnel, buffer[:n]); err != nil {
			return err
		}
	}
}

func checkDocument(ptunnel string, document []byte) error {
	var kind metav1.TypeMeta
	if err := yaml.Unmarshal(document, &kind); err != nil {
		return err
	}
	object, err := typed(kind)
	if err != nil {
		return err
	}
	if err := decode(document, object); err != nil {
		return fmt.Errorf("%s: %w", kind.Kind, err)
	}
	if config, ok := object.(*corev1.ConfigMap); ok {
		if err := checkConfig(ptunnel, config.Data["ptunnel.toml"]); err != nil {
			return fmt.Errorf("ConfigMap %s: %w", config.Name, err)
		}
	}
	fmt.Printf("%s %s: good\n", kind.APIVersion, kind.Kind)
	return nil
}

// decode is as strict as the server: yaml's own strict decoding takes readonly for readOnly.
func decode(document []byte, object any) error {
	document, err := yaml.YAMLToJSONStrict(document)
	if err != nil {
		return err
	}
	unknown, err := json.UnmarshalStrict(document, object)
	return errors.Join(append(unknown, err)...)
}

func typed(kind metav1.TypeMeta) (any, error) {
	switch kind.APIVersion + " " + kind.Kind {
	case "v1 ConfigMap":
		return new(corev1.ConfigMap), nil
	case "v1 Secret":
		return new(corev1.Secret), nil
	case "v1 Service":
		return new(corev1.Service), nil
	case "apps/v1 DaemonSet":
		return new(appsv1.DaemonSet), nil
	case "apps/v1 Deployment":
		return new(appsv1.Deployment), nil
	case "networking.k8s.io/v1 NetworkPolicy":
		return new(networkingv1.NetworkPolicy), nil
	}
	return nil, fmt.Errorf("unknown kind %q of %q", kind.Kind, kind.APIVersion)
}

// mounted is where the manifests have their Secrets; here that is the folder of a check.
const mounted = "/run/secrets/ptunnel"

func checkConfig(ptunnel, text string) error {
	folder, err := os.MkdirTemp("", "ptunnel-check")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	password := filepath.Join(folder, "password")
	if err := os.WriteFile(password, []byte("secret"), 0o400); err != nil {
		return err
	}
	file := filepath.Join(folder, "ptunnel.toml")
	text = strings.ReplaceAll(text, mounted, folder)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return err
	}
	output, err := exec.Command(ptunnel, "--config", file, "--check-config").CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(output))
	}
	return nil
}
