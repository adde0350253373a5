package main

import (
	"maps"
	"reflect"
	"slices"

	certmanager "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	cloudnativepg "github.com/cloudnative-pg/cloudnative-pg/api/v1"
	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// object is one that a kustomization has.
type object struct {
	Kind      string `json:"kind"`
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	// The object as its type has decoded it.
	Decoded runtime.Object `json:"decoded"`
}

// kustomization is what was built.
type kustomization struct {
	Objects []object `json:"objects"`
	// The Secrets that no object makes, and whether they have to be there.
	Secrets map[string]bool `json:"secrets"`
}

// kubernetes builds a kustomization as `kubectl apply -k` does, decodes each object strictly by the official type, and follows the
// references between the objects.
func kubernetes(metricsFile, directory string) (any, faults) {
	known, err := knownMetrics(metricsFile)
	if err != nil {
		return nil, faults{err.Error()}
	}
	types := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, certmanager.AddToScheme, cloudnativepg.AddToScheme, monitoring.AddToScheme} {
		if err := add(types); err != nil {
			return nil, faults{err.Error()}
		}
	}
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), directory)
	if err != nil {
		return nil, faults{err.Error()}
	}
	var found faults
	decoder := json.NewSerializerWithOptions(json.DefaultMetaFactory, types, types, json.SerializerOptions{Yaml: true, Strict: true})
	var objects []object
	for _, resource := range built.Resources() {
		text, err := resource.AsYAML()
		if err != nil {
			found.add("%s: %v", resource.CurId(), err)
			continue
		}
		decoded, _, err := decoder.Decode(text, nil, nil)
		if err != nil {
			found.add("%s: %v", resource.CurId(), err)
			continue
		}
		objects = append(objects, object{resource.GetKind(), resource.GetName(), resource.GetNamespace(), decoded})
	}
	secrets := references(objects, &found)
	for _, object := range objects {
		if rules, ok := object.Decoded.(*monitoring.PrometheusRule); ok {
			for _, group := range rules.Spec.Groups {
				for _, rule := range group.Rules {
					known.check(rule.Expr.String(), rule.Alert, &found)
				}
			}
		}
	}
	return kustomization{objects, secrets}, found
}

// references adds what is referred to and is not there: the pods of selectors, ports, volumes, and what a Deployment is configured with
// that no object of the kustomization makes. Secrets may be made by hand: they are returned.
func references(objects []object, found *faults) map[string]bool {
	var deployment *apps.Deployment
	made := map[string]bool{}
	for _, object := range objects {
		made[object.Kind+"/"+object.Name] = true
		switch decoded := object.Decoded.(type) {
		case *apps.Deployment:
			deployment = decoded
		case *certmanager.Certificate:
			made["Secret/"+decoded.Spec.SecretName] = true
		case *cloudnativepg.Cluster:
			// What the operator makes, by its documentation.
			for _, suffix := range []string{"app", "ca"} {
				made["Secret/"+decoded.Name+"-"+suffix] = true
			}
		}
	}
	if deployment == nil {
		found.add("there is no Deployment")
		return nil
	}
	pods := labels.Set(deployment.Spec.Template.Labels)
	ports := map[string]int32{}
	for _, container := range deployment.Spec.Template.Spec.Containers {
		for _, port := range container.Ports {
			ports[port.Name] = port.ContainerPort
		}
	}
	selects := func(where string, selector *meta.LabelSelector) {
		parsed, err := meta.LabelSelectorAsSelector(selector)
		if err != nil {
			found.add("%s: %v", where, err)
		} else if parsed.Empty() || !parsed.Matches(pods) {
			found.add("%s: %s does not select the daemon's pods", where, parsed)
		}
	}
	hasPort := func(where string, port intstr.IntOrString) {
		isThere := slices.Contains(slices.Collect(maps.Values(ports)), port.IntVal)
		if port.Type == intstr.String {
			_, isThere = ports[port.StrVal]
		}
		if !isThere {
			found.add("%s: no container has the port %s", where, port.String())
		}
	}
	selects("Deployment", deployment.Spec.Selector)
	for _, object := range objects {
		where := object.Kind + "/" + object.Name
		switch decoded := object.Decoded.(type) {
		case *core.Service:
			selects(where, &meta.LabelSelector{MatchLabels: decoded.Spec.Selector})
			for _, port := range decoded.Spec.Ports {
				hasPort(where, port.TargetPort)
			}
		case *policy.PodDisruptionBudget:
			selects(where, decoded.Spec.Selector)
		case *networking.NetworkPolicy:
			selects(where, &decoded.Spec.PodSelector)
			for _, ingress := range decoded.Spec.Ingress {
				for _, port := range ingress.Ports {
					hasPort(where, *port.Port)
				}
			}
		case *autoscaling.HorizontalPodAutoscaler:
			target := decoded.Spec.ScaleTargetRef
			if target.Kind != "Deployment" || target.Name != deployment.Name {
				found.add("%s: it scales %s/%s", where, target.Kind, target.Name)
			}
			if deployment.Spec.Replicas != nil {
				found.add("%s: the Deployment has a number of replicas, to which each apply would return", where)
			}
		case *monitoring.ServiceMonitor:
			follows(where, decoded, objects, found)
		}
	}
	return follow(deployment, made, hasPort, found)
}

// follows checks that a ServiceMonitor selects a Service with its ports.
func follows(where string, monitor *monitoring.ServiceMonitor, objects []object, found *faults) {
	selector, err := meta.LabelSelectorAsSelector(&monitor.Spec.Selector)
	if err != nil {
		found.add("%s: %v", where, err)
		return
	}
	var ports []string
	for _, object := range objects {
		if service, ok := object.Decoded.(*core.Service); ok && !selector.Empty() && selector.Matches(labels.Set(service.Labels)) {
			for _, port := range service.Spec.Ports {
				ports = append(ports, port.Name)
			}
		}
	}
	for _, endpoint := range monitor.Spec.Endpoints {
		if !slices.Contains(ports, endpoint.Port) {
			found.add("%s: no service that it selects has the port %q, but %v", where, endpoint.Port, ports)
		}
	}
}

// follow checks what the pods of a Deployment refer to, and returns the Secrets that no object makes, and whether they have to be
// there.
func follow(deployment *apps.Deployment, made map[string]bool, hasPort func(string, intstr.IntOrString), found *faults) map[string]bool {
	spec := deployment.Spec.Template.Spec
	// What is missing is made by hand, if it is a Secret.
	missing := map[string]bool{}
	needs := func(kind, name string, optional *bool) {
		switch id := kind + "/" + name; {
		case made[id]:
		case kind == "Secret":
			missing[name] = missing[name] || optional == nil || !*optional
		default:
			found.add("Deployment: it refers to %s, which is not in the kustomization", id)
		}
	}
	volumes := map[string]bool{}
	for _, volume := range spec.Volumes {
		volumes[volume.Name] = true
		if secret := volume.Secret; secret != nil {
			needs("Secret", secret.SecretName, secret.Optional)
		}
		if config := volume.ConfigMap; config != nil {
			needs("ConfigMap", config.Name, config.Optional)
		}
		if projected := volume.Projected; projected != nil {
			for _, source := range projected.Sources {
				if secret := source.Secret; secret != nil {
					needs("Secret", secret.Name, secret.Optional)
				}
				if config := source.ConfigMap; config != nil {
					needs("ConfigMap", config.Name, config.Optional)
				}
			}
		}
	}
	if account := spec.ServiceAccountName; account != "" {
		needs("ServiceAccount", account, nil)
	}
	for _, container := range spec.Containers {
		where := "container " + container.Name
		for _, mount := range container.VolumeMounts {
			if !volumes[mount.Name] {
				found.add("%s: there is no volume %q", where, mount.Name)
			}
		}
		for _, variable := range container.Env {
			if from := variable.ValueFrom; from != nil && from.SecretKeyRef != nil {
				needs("Secret", from.SecretKeyRef.Name, from.SecretKeyRef.Optional)
			}
		}
		for _, probe := range []*core.Probe{container.StartupProbe, container.LivenessProbe, container.ReadinessProbe} {
			if probe == nil || probe.HTTPGet == nil {
				found.add("%s: a probe is missing", where)
			} else {
				hasPort(where, probe.HTTPGet.Port)
			}
		}
		hardened(where, spec.SecurityContext, container.SecurityContext, found)
	}
	return missing
}

// hardened checks what the restricted Pod Security Standard asks for, and a read-only root file system.
func hardened(where string, pod *core.PodSecurityContext, container *core.SecurityContext, found *faults) {
	if pod == nil || container == nil {
		found.add("%s: it has no security context", where)
		return
	}
	isTrue := func(value *bool) bool { return value != nil && *value }
	isFalse := func(value *bool) bool { return value != nil && !*value }
	for name, holds := range map[string]bool{
		"runAsNonRoot":             isTrue(pod.RunAsNonRoot),
		"runAsUser":                pod.RunAsUser != nil && *pod.RunAsUser > 0,
		"seccompProfile":           pod.SeccompProfile != nil && pod.SeccompProfile.Type == core.SeccompProfileTypeRuntimeDefault,
		"readOnlyRootFilesystem":   isTrue(container.ReadOnlyRootFilesystem),
		"allowPrivilegeEscalation": isFalse(container.AllowPrivilegeEscalation),
		"capabilities": container.Capabilities != nil && len(container.Capabilities.Add) == 0 &&
			reflect.DeepEqual(container.Capabilities.Drop, []core.Capability{"ALL"}),
	} {
		if !holds {
			found.add("%s: its security context lacks %s", where, name)
		}
	}
}
