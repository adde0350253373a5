// Metrics as Prometheus reads them: the text on standard input, parsed and checked by Prometheus' own libraries, as
// `promtool check metrics` does, and written as JSON for a test.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

type sample struct {
	Metric string            `json:"metric"`
	Type   string            `json:"type"`
	Labels map[string]string `json:"labels"`
	Value  float64           `json:"value"`
}

type result struct {
	Samples  []sample `json:"samples"`
	Problems []string `json:"problems"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return err
	}
	problems, err := promlint.New(bytes.NewReader(text)).Lint()
	if err != nil {
		return err
	}
	out := result{Samples: []sample{}, Problems: []string{}}
	for _, problem := range problems {
		out.Problems = append(out.Problems, problem.Metric+": "+problem.Text)
	}
	for name, family := range families {
		for _, metric := range family.Metric {
			labels := map[string]string{}
			for _, pair := range metric.Label {
				labels[pair.GetName()] = pair.GetValue()
			}
			out.Samples = append(out.Samples, sample{name, family.GetType().String(), labels, value(family.GetType(), metric)})
		}
	}
	return json.NewEncoder(os.Stdout).Encode(out)
}

// The value of a counter or a gauge, and the count of a histogram.
func value(kind dto.MetricType, metric *dto.Metric) float64 {
	switch kind {
	case dto.MetricType_COUNTER:
		return metric.GetCounter().GetValue()
	case dto.MetricType_GAUGE:
		return metric.GetGauge().GetValue()
	case dto.MetricType_HISTOGRAM:
		return float64(metric.GetHistogram().GetSampleCount())
	default:
		return metric.GetUntyped().GetValue()
	}
}
