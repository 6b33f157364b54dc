// Command collector is an OpenTelemetry Collector of the parts that mira is measured against: the
// OTLP receiver in front of the exporter that drops everything, or of the OTLP exporter with its
// queue in a file. It is built from the Collector's own modules and changes nothing in them.
package main

import (
	"errors"
	"log"

	"github.com/open-telemetry/opentelemetry-collector-contrib/extension/storage/filestorage"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/envprovider"
	"go.opentelemetry.io/collector/confmap/provider/fileprovider"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/nopexporter"
	"go.opentelemetry.io/collector/exporter/otlpexporter"
	"go.opentelemetry.io/collector/extension"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/service/telemetry/otelconftelemetry"
)

// version is that of the modules in go.mod.
const version = "0.165.0"

func factories() (otelcol.Factories, error) {
	receivers, err1 := otelcol.MakeFactoryMap[receiver.Factory](otlpreceiver.NewFactory())
	exporters, err2 := otelcol.MakeFactoryMap[exporter.Factory](nopexporter.NewFactory(), otlpexporter.NewFactory())
	extensions, err3 := otelcol.MakeFactoryMap[extension.Factory](filestorage.NewFactory())
	return otelcol.Factories{
		Receivers: receivers, Exporters: exporters, Extensions: extensions, Telemetry: otelconftelemetry.NewFactory(),
	}, errors.Join(err1, err2, err3)
}

func main() {
	settings := otelcol.CollectorSettings{
		Factories: factories,
		BuildInfo: component.BuildInfo{Command: "collector", Version: version},
		ConfigProviderSettings: otelcol.ConfigProviderSettings{ResolverSettings: confmap.ResolverSettings{
			ProviderFactories: []confmap.ProviderFactory{fileprovider.NewFactory(), envprovider.NewFactory()},
		}},
	}
	if err := otelcol.NewCommand(settings).Execute(); err != nil {
		log.Fatal(err)
	}
}
